"""Acts that bring quota, keys or cash, fifty times at once: each is done once. Of two of them the answer shows a secret
and is not kept, so that they have no idempotency key: they are done once by what they do."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pyotp
import pytest
from starlette.applications import Starlette

from tests.codes import sold
from tests.console.browser import Answer
from tests.office.customers import a_login, an_account
from tests.office.staff import OWNER, StaffClient, a_key, refused, told
from tollkeeper.accounts.money.codes import BatchWish
from tollkeeper.core.partner.plan import MicroUsd
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.people.totp import mint_secret
from tollkeeper.office.accounts import CreditWish, credit_account
from tollkeeper.office.desks import Office
from tollkeeper.office.table import ACTS

# So many of one key are taken at once; more are told to come again.
AT_ONCE, TURNS = 17, 3
CASH = """
insert into reward (kind, account_id, top_up_id, full_amount, amount, granted_at, available_at)
select 'referral_cash', $1, id, 5000000, 5000000, at - interval '1 year', at - interval '1 year' from top_up limit 1
returning id
"""
GRANTED = "insert into cash_entry (account_id, kind, usd_micros, reward_id) values ($1, 'granted', 5000000, $2)"


@pytest.fixture
async def till(api: Starlette, office: Office) -> StaffClient:
    return StaffClient(api, await a_key(office, "till", Scope.MONEY))


async def fifty(till: StaffClient, path: str, **fields: Any) -> list[Answer]:
    found: list[Answer] = []
    for _ in range(TURNS):
        found += await asyncio.gather(*(till.post(path, **fields) for _ in range(AT_ONCE)))
    return found


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


async def a_code(office: Office) -> str:
    [code] = await sold(office.codes, BatchWish(codes=1, usd_micros=MicroUsd(10_000_000), months=9))
    return code


async def test_a_code_is_redeemed_once_and_everybody_gets_the_same_answer(
    till: StaffClient, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada, code = await an_account(owner_client), await a_code(office)
    answers = await fifty(till, f"/accounts/{ada}/redeem", once="for ada", code=code, reason="they asked")
    assert statuses(answers) == {200: AT_ONCE * TURNS}
    assert len({answer.text for answer in answers}) == 1
    assert await owner.fetchval("select count(*) from lot where account_id = $1", ada) == 1
    # Under other names, by programs that do not know of each other, it is still one code.
    told(await till.post(f"/accounts/{ada}/redeem", once="again", code=code, reason="they asked"))
    assert await owner.fetchval("select count(*) from top_up where account_id = $1", ada) == 1


async def test_cash_is_asked_for_once_and_repeating_it_locks_nobodys_second_factor(
    till: StaffClient, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada, ben = await an_account(owner_client), await an_account(owner_client, "Ben")
    told(await till.post(f"/accounts/{ben}/redeem", once="pays", code=await a_code(office), reason="they asked"))
    await owner.execute(GRANTED, ada, await owner.fetchval(CASH, ada))
    await a_login(owner, ada, "ada@people.example")
    secret = mint_secret(lambda letters: letters[7])
    assert await office.front_desk.second_factors.propose(ada, secret)
    await owner.execute("update login set totp_confirmed_at = ledger_now() - interval '90 days', totp_last_step = 0")
    wish = {
        "usd": "1",
        "payee": "Bank of Ada",
        "reason": "they asked",
        "code": pyotp.TOTP(secret).at(datetime.now(UTC)),
    }
    answers = await fifty(till, f"/accounts/{ada}/withdrawals", once="cash", **wish)
    assert statuses(answers) == {200: AT_ONCE * TURNS}
    assert len({answer.text for answer in answers}) == 1
    assert await owner.fetchval("select count(*) from withdrawal") == 1
    assert await owner.fetchval("select count(*) from lockout where failures > 0 or locks > 0") == 0


@pytest.mark.parametrize("path", ["/accounts/{account}/redeem", "/accounts/{account}/withdrawals"])
async def test_without_an_idempotency_key_neither_is_done(
    till: StaffClient, owner_client: StaffClient, path: str
) -> None:
    ada = await an_account(owner_client)
    answer = await till.post(path.format(account=ada), code="x", usd="1", payee="Ada", reason="they asked")
    assert refused(answer) == (400, "idempotency_key_missing")


async def test_the_faucet_gives_one_key_to_whoever_asks_first(
    till: StaffClient, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada = await an_account(owner_client)
    await a_login(owner, ada, "ada@people.example")
    await owner.execute("update login set verified_at = ledger_now()")
    answers = await fifty(till, f"/accounts/{ada}/faucet", ip="192.0.2.7", reason="they asked")
    assert statuses(answers) == {200: 1, 422: AT_ONCE * TURNS - 1}
    assert await owner.fetchval("select count(*) from lot where account_id = $1", ada) == 1
    assert await owner.fetchval("select count(*) from api_key where account_id = $1", ada) == 1
    assert await owner.fetchval("select count(*) from operator_request where answer is not null") == 0


async def test_a_batch_is_exported_to_whoever_asks_first(till: StaffClient, owner: asyncpg.Connection) -> None:
    batch = told(await till.post("/code-batches", once="a", codes=2, usd="10", reason="ordered"))["batch"]
    answers = await fifty(till, f"/code-batches/{batch}/export", reason="handed out")
    assert statuses(answers) == {200: 1, 422: AT_ONCE * TURNS - 1}
    assert await owner.fetchval("select count(*) from redemption_code") == 2
    [kept] = await owner.fetch("select answer from operator_request")
    [exported] = [answer for answer in answers if answer.status == 200]
    assert all(code.encode() not in kept["answer"] for code in told(exported)["codes"])


def test_an_act_of_money_that_is_not_named_is_one_whose_answer_is_not_kept() -> None:
    """A new act of this scope moves money under a name, or stands here with its reason (record 0114)."""
    unnamed = {act.name for act in ACTS if act.scope is Scope.MONEY and not act.moves_money}
    assert unnamed == {
        # Their answers show a secret.
        "create_customer_key",
        "rotate_customer_key",
        "give_from_faucet",
        "export_batch",
        # They say how something is to be, and move nothing.
        "set_group",
        "revoke_batch",
    }


async def test_a_payment_is_credited_once_whichever_key_or_command_sends_it(
    api: Starlette, till: StaffClient, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada, ben = await an_account(owner_client), await an_account(owner_client, "Ben")
    other = StaffClient(api, await a_key(office, "other", Scope.MONEY))
    path, wish = f"/accounts/{ada}/credits", {"usd": "10", "reason": "paid", "source_id": "invoice 17"}
    first = told(await till.post(path, once="a", **wish))
    assert not first["was_before"]
    for client, once in ((till, "b"), (other, "a")):
        again = told(await client.post(path, once=once, **wish))
        assert (again["was_before"], again["lot"]) == (True, first["lot"])
    by_command = CreditWish(once="invoice 17", source_id="invoice 17", reason="paid", account=ada, usd="10")
    assert (await credit_account(office, by_command, OWNER)).was_before
    assert await owner.fetchval("select count(*) from lot") == 1
    for account, usd in ((ada, "20"), (ben, "10")):
        answer = await other.post(f"/accounts/{account}/credits", once=f"{account} {usd}", **(wish | {"usd": usd}))
        assert refused(answer) == (409, "already_there")
    assert await owner.fetchval("select count(*) from lot") == 1
    # Without an id of their own, names of requests stay those of each key.
    for client in (till, other):
        assert not told(await client.post(path, once="c", usd="10", reason="paid"))["was_before"]
