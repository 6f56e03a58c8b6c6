"""Operator keys in PostgreSQL."""

from collections.abc import Sequence
from typing import Any

from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import OperatorKeyRecord, Scope
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.ports.operators import NewOperatorKey
from tollkeeper.storage.postgres.database import Database

COLUMNS = """
select k.id, k.name, k.hint, k.scopes, k.only_networks, k.created_at, k.created_by, k.expires_at,
       k.expires_at <= ledger_now() as expired, k.revoked_at, k.last_used_at, k.account_id,
       l.role as login_role, coalesce(a.disabled_at is not null, false) as login_disabled
from operator_key k left join login l on l.account_id = k.account_id left join account a on a.id = k.account_id
"""
FIND = f"{COLUMNS} where k.digest = $1"
LISTED = f"""
{COLUMNS}
where coalesce(k.revoked_at, k.expires_at) > ledger_now() - interval '90 days'
order by coalesce(k.revoked_at, k.expires_at) > ledger_now() desc, k.id desc
"""
CREATE = "select verdict, key_id from make_operator_key($1, $2, $3, $4, $5, $6, $7, $8)"
REVOKE = "select revoke_operator_key($1, $2, $3) as verdict"
# Once a minute is enough to see which keys are in use.
NOTE_USE = """
update operator_key set last_used_at = ledger_now()
where id = $1 and (last_used_at is null or last_used_at < ledger_now() - interval '1 minute')
"""


class SqlOperatorKeys:
    """The `OperatorKeys` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, key: NewOperatorKey, *, actor: str) -> int:
        scopes = sorted(key.scopes)
        networks = None if key.only_networks is None else list(key.only_networks)
        values = (key.name, key.digest, key.hint, scopes, networks, key.account_id, key.expires_at, actor)
        async with self._database.transaction() as connection:
            made = await connection.fetchrow(CREATE, *values)
        if made["verdict"] == "name_taken":
            raise AlreadyOnFile(f"There is an operator key '{key.name}'. Revoke it, or choose a name.")
        if made["verdict"] == "not_staff":
            raise NotOnFile(f"Account {key.account_id} has no staff login. Nothing was done.")
        key_id: int = made["key_id"]
        return key_id

    async def find(self, digest: bytes) -> OperatorKeyRecord | None:
        row = await self._database.row(FIND, digest)
        return None if row is None else _record(row)

    async def note_use(self, key_id: int) -> None:
        await self._database.row(NOTE_USE, key_id)

    async def listed(self) -> Sequence[OperatorKeyRecord]:
        return [_record(row) for row in await self._database.rows(LISTED)]

    async def revoke(self, name: str, reason: str, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            verdict = await connection.fetchval(REVOKE, name, reason, actor)
        if verdict == "unknown":
            raise NotOnFile(f"There is no operator key '{name}'.")
        return bool(verdict == "revoked")


def _record(row: Any) -> OperatorKeyRecord:
    fields = dict(row)
    networks = fields.pop("only_networks")
    role = fields.pop("login_role")
    return OperatorKeyRecord(
        **fields | {"scopes": frozenset(map(Scope, row["scopes"]))},
        only_networks=None if networks is None else tuple(networks),
        login_role=None if role is None else Role(role),
    )
