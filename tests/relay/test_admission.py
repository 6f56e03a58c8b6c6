"""What stands against a call before anything is sent: its key, its limits, its order, its model, its quota."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import msgspec
import pytest

from tests.core.test_keys import RECORD
from tests.relay.fakes import NOW, Books, Reply
from tests.relay.house import INPUT_TOKENS, KEY, MODELS, UNITS, Heard, House, chat_body, whole
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.catalog.models import Shelf
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core.errors import (
    AccountDisabled,
    AccountInDebt,
    AccountShort,
    AnswerWouldBeTooLarge,
    GatewayError,
    KeyBudgetExceeded,
    KeyExpired,
    KeyMissing,
    KeyNotForThisNetwork,
    KeyPaused,
    KeyRevoked,
    KeyShort,
    KeyUnknown,
    MalformedBody,
    MissingParameter,
    ModelNotFound,
    RateLimited,
    StoreUnavailable,
    WorkerFenced,
)
from tollkeeper.core.limits.windows import LimitOutcome as Told
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.money.prices import MILLIONTHS
from tollkeeper.relay import gate as gates
from tollkeeper.relay.operations import CHAT, IMAGE
from tollkeeper.storage.ledger.memory_ledger import MemoryAccount

SECOND_US = 1_000_000


def assert_nothing_was_taken(house: House, heard: Heard) -> None:
    assert (heard.receipt, house.upstream.requests) == (None, [])
    house.check()


@pytest.mark.parametrize("authorization", [None, "", "sk-x", "Basic eDp5", f"bearer {KEY}"])
@in_virtual_time
async def test_who_shows_no_key_is_told_how_to(authorization: str | None) -> None:
    house = House()
    heard = await house.ask(CHAT, chat_body(), authorization=authorization)
    assert isinstance(heard.problem, KeyMissing)
    assert_nothing_was_taken(house, heard)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"revoked": True}, KeyRevoked),
        ({"expires_at": NOW}, KeyExpired),
        ({"paused": True}, KeyPaused),
        ({"account_disabled": True}, AccountDisabled),
        ({"only_networks": read_networks(["203.0.113.0/24"])}, KeyNotForThisNetwork),
    ],
    ids=["revoked", "expired", "paused", "disabled", "elsewhere"],
)
@in_virtual_time
async def test_a_key_that_may_not_be_used_is_refused_with_the_reason(
    changes: dict[str, object], refusal: type[GatewayError]
) -> None:
    house = House(rates=Rates(key_rate=1))
    house.keys.records[KEY] = msgspec.structs.replace(RECORD, **changes)
    heard = await house.chat()
    assert type(heard.problem) is refusal
    assert_nothing_was_taken(house, heard)


@in_virtual_time
async def test_an_unknown_key_is_unknown_and_one_that_cannot_be_looked_up_is_not_judged() -> None:
    house = House()
    house.keys.records.clear()
    assert isinstance((await house.chat()).problem, KeyUnknown)
    house.keys.is_away = True
    assert isinstance((await house.chat()).problem, StoreUnavailable)


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (b"{", MalformedBody),
        (b'{"messages": []}', MissingParameter),
        (chat_body(model="unknown"), ModelNotFound),
        (chat_body(model="painter"), ModelNotFound),
        (chat_body(model="talker", n=128, max_tokens=2_000_000), AnswerWouldBeTooLarge),
    ],
    ids=["malformed", "no model", "unknown model", "model of another kind", "answer too large"],
)
@in_virtual_time
async def test_an_order_that_cannot_be_served_takes_no_quota_and_no_place(
    body: bytes, refusal: type[GatewayError]
) -> None:
    house = House(rates=Rates(key_rate=1))
    heard = await house.ask(CHAT, body)
    assert type(heard.problem) is refusal
    assert_nothing_was_taken(house, heard)


@pytest.mark.parametrize(
    "changes", [{"only_groups": frozenset({"others"})}, {"prices": ()}], ids=["of other groups", "not for sale yet"]
)
@in_virtual_time
async def test_a_model_that_a_caller_cannot_have_is_not_there(changes: dict[str, object]) -> None:
    house = House()
    model = msgspec.structs.replace(MODELS[0], **changes)
    house.catalog.on_offer = msgspec.structs.replace(house.catalog.on_offer, models={"m": model})
    heard = await house.chat()
    assert isinstance(heard.problem, ModelNotFound)
    assert_nothing_was_taken(house, heard)


@in_virtual_time
async def test_a_group_that_is_not_on_the_shelf_yet_is_waited_for() -> None:
    house = House()
    house.catalog.on_offer = Shelf(house.catalog.on_offer.models, {}, {})
    assert isinstance((await house.chat()).problem, StoreUnavailable)


@in_virtual_time
async def test_a_price_that_changes_while_the_body_comes_is_the_price() -> None:
    house = House(Reply(whole(5, (10, 5))))
    cheap = house.catalog.on_offer

    async def read_body() -> bytes:
        house.catalog.on_offer = msgspec.structs.replace(cheap, groups={RECORD.group: 3 * MILLIONTHS})
        return chat_body()

    heard = await house.ask(CHAT, read_body)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == 3 * 20 * UNITS


# What a call without a maximum is held for: its input, and a hundred words at two quota each.
HELD = INPUT_TOKENS + 200


SHORT = {
    "account": (lambda books: books.lots.clear(), AccountShort, "The account has 0.000 USD"),
    "key": (lambda books: change_key(books, quota=5 * UNITS), KeyShort, "raise the key's quota in the console"),
    "day": (
        lambda books: change_key(books, daily_budget=5 * UNITS),
        KeyBudgetExceeded,
        (
            "0.00001 USD left of its daily budget; this call needs 0.000416 USD. Sending it again will not help before "
            "2026-07-02, 00:00 UTC: raise the budget in the console, or ask for less."
        ),
    ),
    "month": (
        lambda books: change_key(books, monthly_budget=5 * UNITS),
        KeyBudgetExceeded,
        (
            "0.00001 USD left of its monthly budget; this call needs 0.000416 USD. Sending it again will not help "
            "before 2026-08-01, 00:00 UTC: raise the budget in the console, or ask for less."
        ),
    ),
    "debt": (
        lambda books: books.accounts.update({1: MemoryAccount(debt=5 * UNITS)}),
        AccountInDebt,
        "until that is paid; this call needs 0.000416 USD. Sending it again will not help: top up.",
    ),
    "no such key": (lambda books: books.keys.clear(), KeyUnknown, ""),
}


def change_key(books: Books, **changes: int) -> None:
    books.keys[RECORD.key_id] = msgspec.structs.replace(books.keys[RECORD.key_id], **changes)


@pytest.mark.parametrize(("happens", "refusal", "words"), SHORT.values(), ids=SHORT)
@in_virtual_time
async def test_what_the_ledger_says_against_a_hold_is_told(
    happens: Callable[[Books], None], refusal: type[GatewayError], words: str
) -> None:
    house = House(rates=Rates(concurrency=1))
    happens(house.ledger)
    heard = await house.chat()
    assert type(heard.problem) is refusal
    assert words in str(heard.problem)
    assert (heard.receipt, house.upstream.requests, house.ledger.holds) == (None, [], {})
    assert house.limiter.running == set(), "its place among the calls under way is still taken"


@in_virtual_time
async def test_a_call_that_was_settled_is_not_made_again_under_its_id() -> None:
    house, request_id = House(Reply(whole(5))), uuid4()
    assert (await house.ask(CHAT, chat_body(), request_id=request_id)).problem is None
    assert isinstance((await house.ask(CHAT, chat_body(), request_id=request_id)).problem, WorkerFenced)
    assert len(house.upstream.requests) == 1
    house.check()


@pytest.mark.parametrize(
    ("body", "quota"),
    [
        (chat_body(), HELD),
        (chat_body(max_tokens=7), INPUT_TOKENS + 2 * 7),
        (chat_body(max_tokens=7, n=3), INPUT_TOKENS + 2 * 7 * 3),
        (chat_body(max_tokens=10**6), INPUT_TOKENS + 2 * 4_000),
        (chat_body(model="thinker"), INPUT_TOKENS + 2 * 200),
    ],
    ids=["as expected", "as capped", "for each choice", "at most what the model says", "all of its thoughts"],
)
@in_virtual_time
async def test_a_call_is_held_for_by_what_it_asks_until_it_is_settled(body: bytes, quota: int) -> None:
    house = House(Reply(whole(1)))
    await house.ask(CHAT, body)
    [hold] = house.ledger.holds.values()
    assert (hold.order.amount, hold.order.input_units) == (quota * UNITS, INPUT_TOKENS)
    # Longer than any call can be silent.
    assert hold.order.seconds == 2 * 600 + 60
    house.check()


@pytest.mark.parametrize(
    ("quota", "advice"),
    [(INPUT_TOKENS + 100, "max_tokens of 50 or less"), (INPUT_TOKENS, None)],
    ids=["enough for less", "not enough for a word"],
)
@in_virtual_time
async def test_who_has_too_little_quota_is_told_what_would_fit(quota: int, advice: str | None) -> None:
    house = House(quota=quota)
    heard = await house.chat()
    assert isinstance(heard.problem, AccountShort)
    assert (advice in heard.problem.message) if advice else ("max_tokens" not in heard.problem.message)
    assert_nothing_was_taken(house, heard)


@in_virtual_time
async def test_quota_to_the_last_unit_is_enough() -> None:
    house = House(Reply(whole(5)), quota=HELD)
    assert (await house.chat()).problem is None
    house.check()


@in_virtual_time
async def test_images_that_cannot_be_paid_for_come_without_advice_on_tokens() -> None:
    house = House(quota=0)
    problem = (await house.ask(IMAGE, b'{"model": "painter", "prompt": "a river"}')).problem
    assert isinstance(problem, AccountShort)
    assert "max_tokens" not in problem.message


@in_virtual_time
async def test_who_is_at_a_limit_is_told_when_to_come_back_and_holds_nothing() -> None:
    house = House(Reply(whole(1)), Reply(whole(1)), Reply(whole(1)), rates=Rates(key_rate=2))
    for _ in range(2):
        assert (await house.chat()).problem is None
    house.limiter.now_us += 20 * SECOND_US
    heard = await house.chat()
    assert isinstance(heard.problem, RateLimited)
    assert (heard.problem.retry_after_seconds, heard.receipt) == (40, None)
    assert [outcome.refused is None for outcome in house.told] == [True, True, False]
    house.limiter.now_us += 40 * SECOND_US
    assert (await house.chat()).problem is None
    house.check()


@in_virtual_time
async def test_who_is_known_to_be_at_a_limit_is_refused_before_the_body_is_read() -> None:
    house = House(Reply(whole(1)), rates=Rates(key_rate=1))
    await house.chat()
    assert isinstance((await house.chat()).problem, RateLimited)

    async def read_body() -> bytes:
        raise AssertionError("the body was read")

    assert isinstance((await house.ask(CHAT, read_body)).problem, RateLimited)


@pytest.mark.parametrize(
    ("rates", "has_paid", "most"),
    [
        (Rates(concurrency=3), True, 3),
        (Rates(), False, 2),
        (Rates(concurrency=1), False, 1),
    ],
    ids=["of its group", "never paid", "of its group, and never paid"],
)
@in_virtual_time
async def test_so_many_calls_of_an_account_are_under_way_and_no_more(rates: Rates, has_paid: bool, most: int) -> None:
    house = House(rates=rates)
    caller = house.keys.records[KEY] = msgspec.structs.replace(RECORD, has_paid=has_paid)
    passages = [await house.relay.gate.enter(Visitor(), caller, rates, "chat", "m") for _ in range(most)]
    assert isinstance((await house.chat()).problem, RateLimited)
    house.relay.gate.leave(passages.pop(), 0)
    # Each gives its place back at its end, for the next.
    for _ in range(2):
        house.upstream.replies.append(Reply(whole(1)))
        assert (await house.chat()).problem is None


class Visitor:
    """Somebody who takes a place."""

    def __init__(self) -> None:
        self.request_id = uuid4()
        self.ip = "203.0.113.7"
        self.told: list[Told] = []

    def note_limits(self, outcome: Told, waited_seconds: float | None, /) -> None:
        self.told.append(outcome)


@in_virtual_time
async def test_tokens_of_input_and_output_count_toward_the_limit_of_tokens() -> None:
    house = House(Reply(whole(50)), Reply(whole(1)), rates=Rates(tokens_per_minute=INPUT_TOKENS + 50))
    assert (await house.chat()).problem is None
    assert isinstance((await house.chat()).problem, RateLimited)
    house.limiter.now_us += 61 * SECOND_US
    assert (await house.chat()).problem is None


@in_virtual_time
async def test_a_restricted_account_has_half_of_its_rate_until_it_is_not_any_more() -> None:
    rates = Rates(key_rate=None, standard_rate=4)
    house = House(*[Reply(whole(1))] * 8, rates=rates)
    until = NOW + timedelta(hours=1)
    house.keys.records[KEY] = msgspec.structs.replace(RECORD, restricted_until=until)
    heard = [await house.chat() for _ in range(3)]
    assert [call.problem is None for call in heard] == [True, True, False]
    assert "restricted until" in str(heard[2].problem)
    house.clock.moment = until
    later = [await house.chat() for _ in range(7)]
    # Twice its standard rate is its peak; two of these were made before.
    assert [call.problem is None for call in later] == [True] * 6 + [False]
    assert "restricted" not in str(later[-1].problem)


@in_virtual_time
async def test_a_model_with_a_rate_of_its_own_has_a_window_of_its_own() -> None:
    rates = Rates(key_rate=None, standard_rate=1, peak_percent=100, model_rates={"thinker": 2})
    house = House(*[Reply(whole(1))] * 3, rates=rates)
    problems = [(await house.chat(model=model)).problem for model in ("m", "m", "thinker", "thinker", "thinker")]
    assert [problem is None for problem in problems] == [True, False, True, True, False]


@in_virtual_time
async def test_a_call_that_is_refused_for_another_reason_is_counted_if_there_is_a_place() -> None:
    rates = Rates(key_rate=2)
    house = House(rates=rates)
    for _ in range(5):
        await house.relay.gate.count(Visitor(), RECORD, rates)
    heard = await house.chat()
    assert isinstance(heard.problem, RateLimited)


@in_virtual_time
async def test_rates_that_change_count_from_the_next_call_on() -> None:
    house = House(*[Reply(whole(1))] * 3, rates=Rates(key_rate=1))
    await house.chat()
    assert isinstance((await house.chat()).problem, RateLimited)
    changed = {RECORD.group: Rates(key_rate=3)}
    house.catalog.on_offer = msgspec.structs.replace(house.catalog.on_offer, rates=changed)
    assert (await house.chat()).problem is None


@in_virtual_time
async def test_what_is_kept_of_windows_is_bounded_and_forgetting_them_loosens_no_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gates, "WINDOWS_KEPT", 3)
    rates = Rates(key_rate=1)
    house = House(rates=rates)
    gate = house.relay.gate
    for key_id in range(1, 10):
        await gate.enter(Visitor(), msgspec.structs.replace(RECORD, key_id=key_id), rates, "chat")
    assert len(gate._windows) <= 3
    assert isinstance((await house.chat()).problem, RateLimited)
