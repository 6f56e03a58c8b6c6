"""Streamed answers and their bills, with a ledger in memory and a provider that says what it is told to say."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.core.test_keys import RECORD
from tollkeeper.core.addresses import Address
from tollkeeper.core.catalog import Kind, Model, Offer
from tollkeeper.core.charge import Charge, Ending, UsageSource
from tollkeeper.core.chat import ChatOrder, read_chat
from tollkeeper.core.errors import InsufficientQuota, NodeStopping, QueueFull, StreamBroken
from tollkeeper.core.health import Trouble
from tollkeeper.core.money import Quota
from tollkeeper.core.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.quote import Ask, TokenLimits
from tollkeeper.ports import Credit, Extension, Failure, ProviderAccount, UpstreamFailed, Verdict
from tollkeeper.relay import bill as bills
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call
from tollkeeper.relay.dispatch import Delivery, Take
from tollkeeper.relay.streamed_answer import StreamedAnswer
from tollkeeper.settings import Secret
from tollkeeper.storage.memory_ledger import Account, Key, MemoryLedger

NOW = datetime(2026, 7, 1, tzinfo=UTC)
UNITS = 1_000_000
PRICE = Price(id=1, model_id="m", effective_from=NOW, model=MILLIONTHS, completion=MILLIONTHS, cached=MILLIONTHS)
RATE = Rate(PRICE, MILLIONTHS)


class Provider:
    """An answer that comes in these pieces, and then ends or breaks."""

    status = 200
    is_translated = False
    unheard_characters = 0

    def __init__(self, pieces: Sequence[bytes], *, breaks: bool = False) -> None:
        self._pieces = list(pieces)
        self._breaks = breaks

    def header(self, name: str) -> str | None:
        return None

    async def read(self) -> bytes:
        if self._pieces:
            return self._pieces.pop(0)
        if self._breaks:
            raise UpstreamFailed(Failure.BROKEN)
        return b""

    async def close(self) -> None:
        self._pieces.clear()


class Bench:
    """A seat at no particular account."""

    account = ProviderAccount(id=1, name="bench", vendor="openai", base_url="", secret=Secret(""))

    def succeed(self, first_byte_seconds: float) -> None: ...
    def fail(self, trouble: Trouble, because: str, retry_after_seconds: float | None = None) -> None: ...
    def leave(self, output_tokens: int = 0) -> None: ...


def a_chunk(text: str | None = None, *, finish: str | None = None, usage: object = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], "usage": usage}).encode() + b"\n\n"


def words(count: int) -> list[bytes]:
    return [a_chunk(" river") for _ in range(count)]


END = [a_chunk(finish="stop"), b"data: [DONE]\n\n"]


async def no_body() -> bytes:
    return b""


class Scene:
    """A call of a customer with so much quota, held for and about to be answered."""

    def __init__(self, provider: Provider, ledger: MemoryLedger, *, quota: int, ask: Ask, limits: TokenLimits) -> None:
        self.ledger = ledger
        self.ledger.accounts[RECORD.account_id] = Account()
        self.ledger.keys[RECORD.key_id] = Key(RECORD.account_id)
        self.quota = quota
        self.call = Call(uuid4(), Address.MAIN, None, no_body)
        model = Model(id="m", kind=Kind.CHAT, introduced_at=NOW, only_groups=None, prices=(PRICE,), limits=limits)
        self.bill = Bill(self.call, RECORD, ask, Offer(model, RATE), self.ledger, hold_seconds=60)

        async def dispatched(take: Take) -> Delivery:
            return Delivery(provider, Bench(), await take(provider))

        self.answer = StreamedAnswer(self.call, an_order(ask.n), self.bill, dispatched, 60.0)

    async def heard(self) -> bytes:
        """Everything that reaches the caller, until the end or what went wrong."""
        credit = Credit(
            account_id=RECORD.account_id, amount=Quota(self.quota * UNITS), source="x", source_id="x", months=1
        )
        await self.ledger.credit(credit)
        await self.bill.hold()
        text = b""
        while piece := await self.answer.read():
            text += piece
        return text

    def charge(self, ending: Ending) -> Charge:
        return self.bill.charge(ending, self.answer.meter, complete=self.answer.ending is Ending.COMPLETED)


def an_order(n: int) -> ChatOrder:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, "n": n}
    return read_chat(json.dumps(body).encode())


def a_scene(
    provider: Provider,
    *,
    quota: int = 10_000,
    most: int | None = None,
    n: int = 1,
    ledger: MemoryLedger | None = None,
) -> Scene:
    """One token costs one quota; a call without a maximum is held for 100 tokens of output."""
    ask = Ask(input_tokens=10, max_output_tokens=most, n=n)
    limits = TokenLimits(hold_output_tokens=100)
    return Scene(provider, ledger or MemoryLedger(lambda: NOW), quota=quota, ask=ask, limits=limits)


async def test_a_provider_that_ignores_the_callers_maximum_cannot_spend_more_than_there_is() -> None:
    scene = a_scene(Provider([*words(5_000), *END]), quota=400, most=5)
    with pytest.raises(InsufficientQuota):
        await scene.heard()
    due = scene.charge(Ending.QUOTA_RAN_OUT)
    assert due.amount <= 400 * UNITS
    assert due.usage.output_tokens < 600


async def test_an_answer_within_its_maximum_is_not_broken_off_for_a_few_tokens_difference() -> None:
    """The quota is used up by the hold, and our count is a little above what the provider allows."""
    scene = a_scene(Provider([*words(108), *END]), quota=110, most=100)
    assert (await scene.heard()).endswith(b"data: [DONE]\n\n")


async def test_what_is_left_of_the_quota_is_used_before_an_answer_is_ended() -> None:
    scene = a_scene(Provider([*words(5_000), *END]), quota=375)
    with pytest.raises(InsufficientQuota):
        await scene.heard()
    assert scene.charge(Ending.QUOTA_RAN_OUT).amount == 375 * UNITS


async def test_an_early_report_does_not_give_away_what_came_after_it() -> None:
    early = a_chunk("", usage={"prompt_tokens": 12, "completion_tokens": 0})
    scene = a_scene(Provider([early, *words(50)], breaks=True))
    with pytest.raises(StreamBroken):
        await scene.heard()
    due = scene.charge(Ending.UPSTREAM_BROKE)
    assert (due.usage, due.source) == (Usage(12, 50), UsageSource.COUNTED)


async def test_a_report_on_a_complete_answer_is_the_last_word() -> None:
    report = b'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":7}}\n\n'
    scene = a_scene(Provider([*words(50), END[0], report, END[1]]))
    assert report not in await scene.heard()
    due = scene.charge(Ending.COMPLETED)
    assert (due.usage, due.source) == (Usage(12, 7), UsageSource.PROVIDER)


@pytest.mark.parametrize(
    ("pieces", "complete"),
    [
        ([a_chunk("x"), a_chunk(finish="stop"), a_chunk("y", index=1), a_chunk(finish="stop", index=1)], True),
        ([a_chunk("x"), a_chunk(finish="stop")], False),
        ([a_chunk("x"), a_chunk(finish="stop"), END[1]], True),
        ([a_chunk("x"), a_chunk("y", index=1), a_chunk(finish="stop"), END[1]], False),
    ],
    ids=["both", "one of two", "one of two, and said to be done", "one of two that began, and said to be done"],
)
async def test_of_several_choices_all_must_have_ended(pieces: list[bytes], complete: bool) -> None:
    scene = a_scene(Provider(pieces), n=2)
    if complete:
        await scene.heard()
    else:
        with pytest.raises(StreamBroken):
            await scene.heard()


async def test_events_without_data_are_passed_over() -> None:
    scene = a_scene(Provider([b"data: \n\n", b": hello\n\n", b"data:\n\n", *words(1), *END]))
    text = await scene.heard()
    assert text == words(1)[0] + END[0] + END[1]


class Busy(MemoryLedger):
    """Its queue is full for a while."""

    def __init__(self, refusals: int) -> None:
        super().__init__(lambda: NOW)
        self.refusals = refusals

    async def extend(self, extension: Extension) -> Verdict:
        if self.refusals:
            self.refusals -= 1
            raise QueueFull
        return await super().extend(extension)


async def test_a_full_queue_is_waited_for_without_standing_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bills, "EXTENSION_RETRY_SECONDS", 0.01)
    busy = Busy(refusals=3)
    scene = a_scene(Provider([*words(300), *END]), ledger=busy)
    others = asyncio.create_task(asyncio.sleep(0.005))
    await scene.heard()
    assert others.done(), "nobody else could run"
    assert (busy.refusals, scene.answer.ending) == (0, Ending.COMPLETED)


async def test_a_ledger_that_is_away_for_long_ends_the_stream_and_says_what_is_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bills, "EXTENSION_PATIENCE_SECONDS", 0.0)
    scene = a_scene(Provider([*words(300), *END]), ledger=Busy(refusals=1))
    with pytest.raises(NodeStopping, match="charged"):
        await scene.heard()
    assert scene.answer.ending is Ending.NODE_STOPPED
    assert scene.charge(Ending.NODE_STOPPED).usage.output_tokens >= 100
