"""The audit trail: who did what to what, in a chain that shows tampering."""

from collections.abc import Mapping

import asyncpg
import msgspec


async def audit(
    connection: asyncpg.Connection, actor: str, action: str, subject: str, detail: Mapping[str, object]
) -> None:
    """Put one act on the record, in the transaction that does it."""
    as_json = msgspec.json.encode(detail).decode()
    await connection.execute("select append_audit($1, $2, $3, $4::text::jsonb)", actor, action, subject, as_json)
