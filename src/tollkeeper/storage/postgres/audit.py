"""The audit log: actor, act and subject of every change, in a hash chain that shows tampering."""

from collections.abc import Mapping

import asyncpg
import msgspec


async def audit(
    connection: asyncpg.Connection, actor: str, action: str, subject: str, detail: Mapping[str, object]
) -> None:
    """Put one act on the record, in the transaction that does it. (What moves money is put there by the database.)"""
    as_json = msgspec.json.encode(detail).decode()
    await connection.execute("select put_on_record($1, $2, $3, $4::text::jsonb)", actor, action, subject, as_json)
