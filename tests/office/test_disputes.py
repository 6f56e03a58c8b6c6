"""Disputed charges: opened by customers, decided over the operator API, once."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.calls import CallMade, a_call
from tests.customers import Customer, Customers
from tests.office.customers import a_login
from tests.office.staff import StaffClient, a_key, refused, told
from tollkeeper.accounts.disputes import DisputeRefused, dispute_charge
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.usage.disputes import DISPUTES_A_DAY, DisputeKind
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.office.desks import Office
from tollkeeper.ports.disputes import DisputeVerdict
from tollkeeper.storage.ledger.invariants import STANDING

CHARGED = 110_000_000
NEWS = "select count(*) from change where kind = 'account' and subject = $1"
I14 = next(sql for name, sql in STANDING.items() if name.startswith("I14"))


@pytest.fixture
async def model(customers: Customers) -> str:
    return await customers.a_model()


@pytest.fixture
async def customer(customers: Customers, owner: asyncpg.Connection) -> Customer:
    made = await customers.a_customer()
    await a_login(owner, made.account_id, f"ada{made.account_id}@people.example")
    return made


async def disputed(
    office: Office, call: UUID, kind: DisputeKind = DisputeKind.TOO_MUCH, note: str = ""
) -> DisputeVerdict:
    receipt = await office.receipts.find(call, account_id=None)
    assert isinstance(receipt, Receipt)
    return await dispute_charge(receipt, kind, note, office.disputes)


def silent(model: str, ending: Ending = Ending.COMPLETED) -> CallMade:
    """Charged, and by our own count nothing came."""
    return CallMade(model=model, ending=ending, output_units=0, source=UsageSource.COUNTED_INPUT)


async def credits_of(owner: asyncpg.Connection, call: UUID) -> list[int]:
    rows = await owner.fetch("select granted from lot where source = 'dispute' and source_id = $1", str(call))
    return [row["granted"] for row in rows]


async def test_a_dispute_is_shown_with_its_evidence_and_credited_on_the_record(
    office: Office, owner_client: StaffClient, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    call = await a_call(owner, customer, CallMade(model=model))
    assert await disputed(office, call, note="it said\nnothing  new") is DisputeVerdict.OPENED
    listed = told(await owner_client.get("/disputes"))["data"]
    assert [(row["request_id"], row["state"], row["note"]) for row in listed] == [
        (str(call), "open", "it said nothing new")
    ]
    matters = {each["kind"]: each["told"] for each in told(await owner_client.get("/attention"))["data"]}
    assert matters["disputes"] == "Disputed charges that wait for an answer: 1."
    shown = told(await owner_client.get(f"/disputes/{call}"))
    assert shown["call"]["receipt"]["usage_source"] == "provider"
    assert "too much" in shown["proposed_reason"]
    path = f"/disputes/{call}/credit"
    over = await owner_client.post(path, usd="1", reason="generous", once=uuid4().hex)
    assert refused(over) == (422, "refused")
    done = told(await owner_client.post(path, reason="our mistake", once=uuid4().hex))
    assert (done["credited"]["micro_quota"], done["was_before"]) == (CHARGED, False)
    again = told(await owner_client.post(path, usd="0.0001", reason="again", once=uuid4().hex))
    assert (again["credited"]["micro_quota"], again["was_before"]) == (CHARGED, True)
    assert await credits_of(owner, call) == [CHARGED]
    assert told(await owner_client.get("/disputes"))["data"] == []
    decided = told(await owner_client.get("/disputes", all=True, account=customer.account_id))["data"]
    assert [(row["state"], row["reason"]) for row in decided] == [("credited", "our mistake")]
    acts = await owner.fetch("select action from audit where action like 'dispute.%' order by id")
    assert [row["action"] for row in acts] == ["dispute.open", "dispute.credit"]
    assert await owner.fetchval("select count(*) from outbox where kind = 'dispute_credited'") == 1
    timeline = told(await owner_client.get(f"/accounts/{customer.account_id}/timeline"))["data"]
    assert (timeline[0]["what"], timeline[0]["amount"]["micro_quota"]) == ("dispute.credit", CHARGED)
    assert await owner.fetch(I14) == []


async def test_a_charge_for_nothing_comes_back_at_once_and_a_cut_or_abandoned_call_never(
    office: Office, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    call = await a_call(owner, customer, silent(model))
    assert await disputed(office, call, DisputeKind.NOTHING_CAME) is DisputeVerdict.CREDITED
    assert await credits_of(owner, call) == [CHARGED]
    row = await owner.fetchrow("select state, decided_by from dispute where request_id = $1", call)
    assert tuple(row) == ("credited", "dispute rule")
    for ending in (Ending.CUT, Ending.CLIENT_LEFT):
        other = await a_call(owner, customer, silent(model, ending))
        assert await disputed(office, other, DisputeKind.NOTHING_CAME) is DisputeVerdict.OPENED
        assert await credits_of(owner, other) == []
    assert await owner.fetch(I14) == []


async def test_many_at_once_credit_a_call_once(
    office: Office, owner_client: StaffClient, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    call = await a_call(owner, customer, CallMade(model=model))
    opened = await asyncio.gather(*(disputed(office, call) for _ in range(5)), return_exceptions=True)
    assert sorted(map(str, opened)) == ["This charge was disputed before. Nothing was done."] * 4 + ["opened"]
    path = f"/disputes/{call}/credit"
    answers = await asyncio.gather(
        *(owner_client.post(path, reason=f"person {number}", once=uuid4().hex) for number in range(10))
    )
    assert sorted(told(answer)["was_before"] for answer in answers) == [False] + [True] * 9
    assert await credits_of(owner, call) == [CHARGED]


async def test_a_declined_dispute_has_words_and_stays_declined(
    office: Office, api: Starlette, owner_client: StaffClient, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    call = await a_call(owner, customer, CallMade(model=model))
    await disputed(office, call)
    support = StaffClient(api, await a_key(office, "helper", Scope.SUPPORT))
    path = f"/disputes/{call}"
    assert refused(await support.post(f"{path}/credit", reason="kind", once="a")) == (403, "scope_missing")
    assert refused(await support.post(f"{path}/decline", reason=" ")) == (422, "refused")
    declined = told(await support.post(f"{path}/decline", reason="The answer came whole."))
    assert (declined["state"], declined["decided_by"]) == ("declined", "operator:helper")
    assert refused(await support.post(f"{path}/decline", reason="again")) == (409, "already_there")
    late = await owner_client.post(f"{path}/credit", reason="kind", once="b")
    assert refused(late) == (409, "already_there")
    assert await credits_of(owner, call) == []
    assert refused(await support.get(f"/disputes/{uuid4()}")) == (404, "not_found")


async def test_what_cannot_be_disputed(
    office: Office, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    async def verdict(**made: object) -> DisputeVerdict:
        call = await a_call(owner, customer, CallMade(model=model, **made))  # type: ignore[arg-type]
        with pytest.raises(DisputeRefused) as problem:
            await disputed(office, call)
        return problem.value.verdict

    assert await verdict(charged=0) is DisputeVerdict.NOTHING_CHARGED
    assert await verdict(ago=timedelta(days=61)) is DisputeVerdict.TOO_OLD
    call = await a_call(owner, customer, CallMade(model=model))
    with pytest.raises(ValueError, match="at most 500"):
        await disputed(office, call, note="x" * 501)
    for _ in range(DISPUTES_A_DAY):
        await disputed(office, await a_call(owner, customer, CallMade(model=model)))
    assert await verdict() is DisputeVerdict.DAY_FULL


async def test_nobody_credits_a_charge_of_their_own(
    api: Starlette, office: Office, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    await owner.execute("update login set role = 'operator' where account_id = $1", customer.account_id)
    own = StaffClient(api, await a_key(office, "own", Scope.EVERYTHING, account=customer.account_id))
    call = await a_call(owner, customer, CallMade(model=model))
    await disputed(office, call)
    mine = await own.post(f"/disputes/{call}/credit", reason="for me", once="c")
    assert refused(mine) == (422, "refused")
    assert await credits_of(owner, call) == []


async def test_a_charge_that_came_back_is_no_payment(
    office: Office, customers: Customers, owner: asyncpg.Connection, model: str
) -> None:
    poor = await customers.a_customer(usd=None)
    told_before = await owner.fetchval(NEWS, poor.account_id)
    call = await a_call(owner, poor, silent(model))
    assert await disputed(office, call, DisputeKind.NOTHING_CAME) is DisputeVerdict.CREDITED
    assert await credits_of(owner, call) == [CHARGED]
    assert await owner.fetchval(NEWS, poor.account_id) == told_before


async def test_the_words_of_a_closed_account_are_forgotten(
    office: Office, owner: asyncpg.Connection, customer: Customer, model: str
) -> None:
    call = await a_call(owner, customer, CallMade(model=model))
    await disputed(office, call, note="my own words")
    closed = "update account set closed_at = now() - interval '40 days', disabled_at = now() where id = $1"
    await owner.execute(closed, customer.account_id)
    await owner.execute("select forget_closed_accounts(now() - interval '30 days', 10)")
    assert await owner.fetchval("select note from dispute where request_id = $1", call) == ""


async def test_the_books_find_a_credit_that_nobody_decided(owner: asyncpg.Connection, customer: Customer) -> None:
    await owner.execute("select credit($1, null, 5, 'dispute', $2, 9, 0)", customer.account_id, str(uuid4()))
    assert len(await owner.fetch(I14)) == 1
