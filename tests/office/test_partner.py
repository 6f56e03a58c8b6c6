"""Top-ups, cash and the faucet over the operator API."""

from collections.abc import Mapping

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.codes import sold
from tests.office.customers import a_login, an_account
from tests.office.staff import StaffClient, a_key, refused, told
from tollkeeper.accounts.money.codes import BatchWish
from tollkeeper.core.partner.plan import MicroUsd
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office

ASK = "insert into withdrawal (account_id, usd_micros, payee) values ($1, 100000, 'Ada') returning id"


@pytest.fixture
async def till(api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection) -> StaffClient:
    """Somebody's own: what takes two people takes two logins."""
    login = await an_account(owner_client, "Tilda")
    await a_login(owner, login, "tilda@people.example", "operator")
    return StaffClient(api, await a_key(office, "till", Scope.MONEY, account=login))


@pytest.fixture
async def earned(office: Office, owner: asyncpg.Connection, till: StaffClient) -> Mapping[str, int]:
    """Ada invited Ben, who redeemed 100 USD; her cash can be withdrawn, and was asked for."""
    ada = await office.accounts.create("Ada", "standard", actor="a test")
    ben = await office.accounts.create("Ben", "standard", actor="a test")
    gift_code = await owner.fetchval("select gift_code from account where id = $1", ada)
    assert await owner.fetchval("select accept_invitation($1, $2, 'test')", ben, gift_code)
    [code] = await sold(office.codes, BatchWish(codes=1, usd_micros=MicroUsd(100_000_000), months=9))
    order = {"code": code, "gift_code": gift_code, "reason": "they asked"}
    redeemed = told(await till.post(f"/accounts/{ben}/redeem", once="pays", **order))
    await owner.execute("update reward set granted_at = granted_at - interval '1 y', available_at = granted_at")
    return {"ada": ada, "ben": ben, "top_up": redeemed["top_up"], "asked": await owner.fetchval(ASK, ada)}


async def test_who_approved_by_a_key_does_not_note_the_payment_by_it(
    api: Starlette,
    office: Office,
    owner_client: StaffClient,
    till: StaffClient,
    earned: Mapping[str, int],
    owner: asyncpg.Connection,
) -> None:
    path = f"/withdrawals/{earned['asked']}"
    [waiting] = told(await till.get("/withdrawals"))["data"]
    assert (waiting["id"], waiting["amount"]["usd"], waiting["state"]) == (earned["asked"], "0.10", "requested")
    assert refused(await till.post(f"{path}/pay", once="1", reason="transfer 1")) == (422, "refused")
    assert told(await till.post(f"{path}/approve", once="2", reason="all is well")) == {"changed": True}
    # Sent again by a process that never heard the answer, it is done; by somebody else, it was decided before.
    assert told(await till.post(f"{path}/approve", once="3", reason="all is well")) == {"changed": False}
    login = await an_account(owner_client, "Boris")
    await a_login(owner, login, "boris@people.example", "operator")
    second = StaffClient(api, await a_key(office, "second", Scope.MONEY, account=login))
    assert refused(await second.post(f"{path}/approve", once="1", reason="all is well")) == (422, "refused")
    alone = await till.post(f"{path}/pay", once="4", reason="transfer 1")
    assert refused(alone) == (422, "refused")
    assert "Somebody else" in alone.text
    assert told(await second.post(f"{path}/pay", once="5", reason="transfer 1")) == {"changed": True}
    assert told(await second.post(f"{path}/pay", once="6", reason="transfer 1")) == {"changed": False}
    assert await owner.fetchval("select count(*) from cash_entry where kind = 'paid'") == 1
    shown = told(await till.get(path))
    assert (shown["approved_by"], shown["decided_by"], shown["reason"]) == (
        "operator:till",
        "operator:second",
        "transfer 1",
    )
    assert told(await till.get("/withdrawals"))["data"] == []
    assert len(told(await till.get("/withdrawals", waiting=False, account=earned["ada"]))["data"]) == 1


async def test_nobody_approves_cash_of_their_own_by_an_operator_key(
    api: Starlette, office: Office, earned: Mapping[str, int], owner: asyncpg.Connection
) -> None:
    await owner.execute(
        "insert into login (account_id, email, person, password, role)"
        " values ($1, 'ada@example.com', sha256('ada'), '$argon2id$', 'operator')",
        earned["ada"],
    )
    own = StaffClient(api, await a_key(office, "ada", Scope.MONEY, account=earned["ada"]))
    answer = await own.post(f"/withdrawals/{earned['asked']}/approve", once="1", reason="mine")
    assert refused(answer) == (422, "refused")
    assert "your own account" in answer.text
    assert told(await own.post(f"/withdrawals/{earned['asked']}/refuse", once="2", reason="mine")) == {"changed": True}


async def test_a_top_up_is_listed_shown_and_revoked_once_with_its_rewards(
    till: StaffClient, earned: Mapping[str, int], owner: asyncpg.Connection
) -> None:
    [listed] = told(await till.get("/top-ups", account=earned["ben"]))["data"]
    assert listed["paid"]["usd"] == "100.00"
    assert listed["gift"]["usd"] == "5.000"
    assert told(await till.get("/top-ups"))["data"] == [listed]
    path = f"/top-ups/{earned['top_up']}"
    first = told(await till.post(f"{path}/revoke", once="back", reason="charged back"))
    assert (first["taken_back"]["usd"], first["rewards"], first["was_before"]) == ("100.000", 3, False)
    assert told(await till.post(f"{path}/revoke", once="back", reason="charged back")) == first
    assert told(await till.post(f"{path}/revoke", once="again", reason="charged back"))["was_before"]
    shown = told(await till.get(path))
    assert (shown["revoked_by"], shown["revoke_reason"]) == ("operator:till", "charged back")
    statement = told(await till.get(f"/accounts/{earned['ada']}/partner"))
    assert statement["cash"]["revoked"]["usd"] == "2.50"
    assert {reward["why"] for reward in statement["rewards"]} == {"charged back"}
    assert refused(await till.get("/top-ups/77")) == (404, "not_found")
    assert refused(await till.get("/top-ups", account=77)) == (404, "not_found")


async def test_a_reward_is_revoked_once(till: StaffClient, earned: Mapping[str, int]) -> None:
    rewards = told(await till.get(f"/accounts/{earned['ada']}/partner"))["rewards"]
    cash = next(reward["id"] for reward in rewards if reward["kind"] == "referral_cash")
    done = told(await till.post(f"/rewards/{cash}/revoke", once="1", reason="fraud"))
    assert (done["taken_back"]["usd"], done["was_before"]) == ("2.50", False)
    assert told(await till.post(f"/rewards/{cash}/revoke", once="2", reason="fraud"))["was_before"]


async def test_the_faucets_key_is_shown_once_and_kept_nowhere(
    till: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    account = await office.accounts.create("Ada", "standard", actor="a test")
    path = f"/accounts/{account}/faucet"
    assert refused(await till.post(path, ip="192.0.2.7", reason="they asked")) == (422, "refused")
    await owner.execute(
        "insert into login (account_id, email, person, password, verified_at)"
        " values ($1, 'ada@example.com', sha256('ada'), '$argon2id$', ledger_now())",
        account,
    )
    given = told(await till.post(path, ip="192.0.2.7", reason="they asked"))
    assert given["key"].startswith("sk-")
    assert refused(await till.post(path, ip="192.0.2.7", reason="they asked")) == (422, "refused")
    assert await owner.fetchval("select count(*) from operator_request") == 0
    assert await owner.fetchval("select actor from audit where action = 'faucet.grant'") == "operator:till"
    assert refused(await till.post("/accounts/77/faucet", ip="192.0.2.7", reason="they asked")) == (404, "not_found")
    asked = {"usd": "1", "payee": "Ada", "code": "000000", "reason": "they asked"}
    short = await till.post(f"/accounts/{account}/withdrawals", once="w", **asked)
    assert refused(short) == (422, "refused")
