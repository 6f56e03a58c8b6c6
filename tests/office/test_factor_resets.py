"""Second factors and passkeys are dropped by two members of staff, or on the database's own host."""

from typing import Any

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.office.customers import a_login, an_account
from tests.office.staff import OWNER, StaffClient, a_key, refused, told
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office
from tollkeeper.office.factor_resets import drop_login_second_factor
from tollkeeper.office.operator_keys import NewOperatorKeyWish, create_operator_key
from tollkeeper.office.wishes import AccountReason

ENROL = "update login set totp_sealed = '\\x00', totp_confirmed_at = ledger_now() where account_id = $1"
WHY = {"reason": "showed their passport"}


@pytest.fixture
async def account(owner_client: StaffClient, owner: asyncpg.Connection) -> int:
    """With a second factor."""
    made = await an_account(owner_client)
    await a_login(owner, made, f"ada{made}@people.example")
    await owner.execute(ENROL, made)
    return made


@pytest.fixture
async def anna(api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection) -> StaffClient:
    return await a_colleague("anna", api, office, owner_client, owner)


@pytest.fixture
async def bert(api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection) -> StaffClient:
    return await a_colleague("bert", api, office, owner_client, owner)


async def a_colleague(
    name: str, api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> StaffClient:
    """With an operator key that belongs to their login."""
    account = await an_account(owner_client, name)
    await a_login(owner, account, f"{name}@people.example", "support")
    return StaffClient(api, await a_key(office, name, Scope.SUPPORT, account=account))


async def has_factor(owner: asyncpg.Connection, account: int) -> bool:
    found: bool = await owner.fetchval("select totp_confirmed_at is not null from login where account_id = $1", account)
    return found


async def asked_by(client: StaffClient, account: int) -> Any:
    return told(await client.post(f"/accounts/{account}/login/drop-second-factor", **WHY))["reset"]


async def test_what_one_asks_for_another_confirms(
    anna: StaffClient, bert: StaffClient, owner: asyncpg.Connection, account: int
) -> None:
    asked = await asked_by(anna, account)
    assert (asked["state"], asked["asked_by"]) == ("waiting", "operator:anna")
    assert await has_factor(owner, account)
    assert await owner.fetchval("select count(*) from outbox where kind = 'reset_asked'") == 1
    path = f"/resets/{asked['id']}"
    assert refused(await anna.post(f"{path}/confirm", **WHY)) == (422, "refused")
    again = await bert.post(f"/accounts/{account}/login/drop-second-factor", **WHY)
    assert refused(again) == (409, "already_there")
    assert [row["id"] for row in told(await bert.get("/resets"))["data"]] == [asked["id"]]
    done = told(await bert.post(f"{path}/confirm", reason="I called them"))
    assert (done["state"], done["decided_by"]) == ("done", "operator:bert")
    assert not await has_factor(owner, account)
    assert await owner.fetchval("select count(*) from outbox where kind = 'second_factor_off'") == 1
    assert refused(await bert.post(f"{path}/confirm", **WHY)) == (409, "already_there")
    assert told(await bert.get("/resets"))["data"] == []
    assert told(await bert.get(path))["decide_reason"] == "I called them"
    acts = await owner.fetch("select action, actor from audit where action like 'login.%' order by id desc limit 3")
    assert [tuple(row) for row in acts] == [
        ("login.second_factor_off", "operator:bert"),
        ("login.reset_confirm", "operator:bert"),
        ("login.reset_ask", "operator:anna"),
    ]


async def test_what_was_asked_for_is_void_after_a_day_and_can_be_refused(
    anna: StaffClient, bert: StaffClient, owner: asyncpg.Connection, account: int
) -> None:
    asked = await asked_by(anna, account)
    await owner.execute("update factor_reset set expires_at = ledger_now() - interval '1 s'")
    assert refused(await bert.post(f"/resets/{asked['id']}/confirm", **WHY)) == (422, "refused")
    assert told(await bert.get(f"/resets/{asked['id']}"))["state"] == "void"
    later = await asked_by(anna, account)
    assert told(await anna.post(f"/resets/{later['id']}/refuse", reason="a mistake"))["state"] == "refused"
    assert await has_factor(owner, account)
    assert [row["state"] for row in told(await bert.get("/resets", all=True))["data"]] == ["refused", "void"]


async def test_one_person_with_two_names_is_one_person(
    api: Starlette, office: Office, owner: asyncpg.Connection, owner_client: StaffClient, account: int
) -> None:
    boss = await an_account(owner_client, "Cleo")
    await a_login(owner, boss, "cleo@people.example", "operator")
    own = StaffClient(api, await a_key(office, "cleo", Scope.SUPPORT, account=boss))
    wish = NewOperatorKeyWish(name="script", scopes=[Scope.SUPPORT])
    made = await create_operator_key(office, wish, Actor(f"account:{boss}", Role.OPERATOR))
    wish = NewOperatorKeyWish(name="more", scopes=[Scope.SUPPORT])
    further = await create_operator_key(office, wish, Actor("operator:script", Role.OPERATOR))
    asked = await asked_by(own, account)
    for key in (made.key, further.key):
        answer = await StaffClient(api, key).post(f"/resets/{asked['id']}/confirm", **WHY)
        assert refused(answer) == (422, "refused")
    assert await has_factor(owner, account)


async def test_a_key_of_no_login_a_key_made_for_another_and_a_name_given_anew_are_no_second_person(
    api: Starlette, office: Office, anna: StaffClient, bert: StaffClient, owner: asyncpg.Connection, account: int
) -> None:
    """Whoever may make keys could otherwise be everybody."""
    boss = await owner.fetchval("select account_id from operator_key where name = 'anna'")
    another = await owner.fetchval("select account_id from operator_key where name = 'bert'")
    asked = await asked_by(anna, account)
    path = f"/resets/{asked['id']}/confirm"
    nobodys = StaffClient(api, await a_key(office, "script", Scope.SUPPORT))
    assert refused(await nobodys.post(path, **WHY)) == (422, "refused")
    wish = NewOperatorKeyWish(name="as-another", scopes=[Scope.SUPPORT], account=another)
    lent = await create_operator_key(office, wish, Actor(f"account:{boss}", Role.OPERATOR))
    assert refused(await StaffClient(api, lent.key).post(path, **WHY)) == (422, "refused")
    await owner.execute("update operator_key set revoked_at = ledger_now() where name = 'anna'")
    await owner.execute(
        "insert into operator_key (name, digest, hint, scopes, account_id, created_by, expires_at)"
        " select name, sha256('x'), hint, scopes, $1, 'cli:root', expires_at from operator_key where name = 'anna'",
        another,
    )
    own = StaffClient(api, await a_key(office, "anna-too", Scope.SUPPORT, account=boss))
    assert refused(await own.post(path, **WHY)) == (422, "refused")
    assert await has_factor(owner, account)


async def test_a_factor_that_is_newer_than_the_request_stays(
    anna: StaffClient, bert: StaffClient, owner: asyncpg.Connection, account: int
) -> None:
    asked = await asked_by(anna, account)
    await owner.execute(
        "update login set totp_confirmed_at = ledger_now() + interval '1 s' where account_id = $1", account
    )
    assert refused(await bert.post(f"/resets/{asked['id']}/confirm", **WHY)) == (422, "refused")
    assert await has_factor(owner, account)


async def test_nobody_confirms_a_reset_of_their_own_login(
    api: Starlette, office: Office, owner: asyncpg.Connection, owner_client: StaffClient
) -> None:
    boss = await an_account(owner_client, "Cleo")
    await a_login(owner, boss, "cleo@people.example", "operator")
    await owner.execute(ENROL, boss)
    own = StaffClient(api, await a_key(office, "cleo", Scope.EVERYTHING, account=boss))
    asked = await asked_by(owner_client, boss)
    assert refused(await own.post(f"/resets/{asked['id']}/confirm", **WHY)) == (422, "refused")
    assert await has_factor(owner, boss)


async def test_a_command_on_the_databases_own_host_acts_alone_and_is_on_record(
    office: Office, owner: asyncpg.Connection, account: int
) -> None:
    wish = AccountReason(account=account, reason="the only operator")
    done = await drop_login_second_factor(office, wish, Actor("cli:root", Role.OPERATOR))
    assert done.reset is not None
    assert done.reset.state == "done"
    assert not await has_factor(owner, account)
    row = await owner.fetchrow("select actor, detail->>'reason' as why from audit where action = 'login.reset_ask'")
    assert tuple(row) == ("cli:root", "the only operator")
    assert (await drop_login_second_factor(office, wish, OWNER)).reset is None
