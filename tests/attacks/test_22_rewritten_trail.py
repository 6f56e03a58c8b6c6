"""Somebody wants that an act was not done, or was another one: the audit trail is rewritten, and staff made up."""

import asyncpg
import pytest

from tests.attacks.operator_calls import an_account, bearer, say_to
from tests.command_line import tollkeeper
from tests.office.serving import Served
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.storage.postgres.database import DatabaseRole

CHANGES = {
    "changed": "update audit set detail = detail || '{\"usd\": 1}' where id = 3",
    "another name": "update audit set actor = 'somebody else' where id = 3",
    "deleted": "delete from audit where id = 3",
    "the first deleted": "delete from audit where id = 1",
    "reordered": "update audit set id = case id when 3 then 4 else 3 end, at = at where id in (3, 4)",
    "one put in": "insert into audit select 1000000, at, actor, action, subject, detail, hash, as_role, as_login"
    " from audit where id = 3",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_rows_that_were_changed_deleted_put_in_or_reordered_are_found(
    served: Served, books: asyncpg.Connection, change: str
) -> None:
    """All of it is undone: other tests go by the same trail."""
    for _ in range(5):
        an_account(served)
    own = tollkeeper(served.settings, "books", "check")
    assert own.returncode == 0, own.stdout
    reader = [bearer(served.keys[Scope.READ])]
    await books.execute("create table kept as table audit")
    try:
        await rewritten(books, CHANGES[change])
        assert say_to(served, "GET", "audit/chain", reader).told["is_whole"] is False
        assert tollkeeper(served.settings, "books", "check").returncode != 0
    finally:
        await rewritten(books, "delete from audit")
        await books.execute("insert into audit select * from kept")
        await books.execute("drop table kept")
    assert say_to(served, "GET", "audit/chain", reader).told == {"is_whole": True, "first_break": None}


async def rewritten(books: asyncpg.Connection, sql: str) -> None:
    """As somebody who owns the database could; keys are judged at the end of the statement."""
    await books.execute("alter table audit drop constraint if exists audit_pkey")
    await books.execute(sql)
    await books.execute("alter table audit add constraint audit_pkey primary key (id)")


@pytest.mark.parametrize("part", DatabaseRole)
@pytest.mark.parametrize(
    "sql",
    [
        "update audit set actor = 'nobody'",
        "delete from audit",
        "truncate audit",
        "alter table audit disable trigger all",
        "drop table audit",
        "insert into audit select id + 1, at, actor, action, subject, detail, hash, as_role, as_login from audit",
    ],
    ids=lambda sql: " ".join(sql.split()[:3]),
)
async def test_no_part_of_the_service_can_rewrite_what_was_done(served: Served, part: DatabaseRole, sql: str) -> None:
    await refused_to(part, served, sql)


@pytest.mark.parametrize("part", DatabaseRole)
@pytest.mark.parametrize(
    "sql",
    [
        "insert into operator_key (name) values ('mine')",
        "update operator_key set scopes = '{everything}'",
        "update operator_key set revoked_at = null",
        "update login set role = 'operator'",
        "select put_on_record('me', 'operator_key.revoke', 'operator_key:anna', '{}')",
        "select put_on_record('me', 'login.role', 'account:1', '{}')",
    ],
    ids=lambda sql: " ".join(sql.split()[:4]),
)
async def test_no_part_of_the_service_can_make_staff_off_the_record(
    served: Served, part: DatabaseRole, sql: str
) -> None:
    await refused_to(part, served, sql)


@pytest.mark.parametrize("part", [DatabaseRole.GATEWAY, DatabaseRole.WORKER])
@pytest.mark.parametrize(
    "sql",
    [
        "select make_operator_key('mine', '', '', '{everything}', null, null, now(), 'me')",
        "select set_login_role(1, 'operator', 'me')",
        "update operator_request set status = null",
    ],
    ids=lambda sql: " ".join(sql.split()[:3]),
)
async def test_neither_gateway_nor_worker_can_make_staff(served: Served, part: DatabaseRole, sql: str) -> None:
    await refused_to(part, served, sql)


async def refused_to(part: DatabaseRole, served: Served, sql: str) -> None:
    names = {"role": part.value, "search_path": "tollkeeper"}
    connection = await asyncpg.connect(served.settings["TOLLKEEPER_DATABASE_URL"], server_settings=names)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(sql)
    finally:
        await connection.close()
