"""A gateway without stores, sockets and processes, its customer, and calls that are made there."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import msgspec

from tests.core.test_keys import RECORD
from tests.relay.fakes import (
    NOW,
    Books,
    KnownKeys,
    MemoryLimiter,
    MemoryPool,
    OneShelf,
    Reply,
    SaidLengths,
    ScriptedUpstream,
    StillClock,
)
from tollkeeper.core.addresses import Address
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.digests import CallDigests
from tollkeeper.core.catalog.models import Kind, Model, Shelf
from tollkeeper.core.client_ip import Ip
from tollkeeper.core.errors import GatewayError
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import LimitOutcome, Rates
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.lots import Lot
from tollkeeper.core.money.prices import MILLIONTHS, Price, Usage
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.metrics.calls import CallFigures, SettledCall
from tollkeeper.ports import ProviderAccount, Settlement
from tollkeeper.providers.vendors.anthropic import Anthropic
from tollkeeper.providers.vendors.openai import OpenAI
from tollkeeper.relay.answers.whole import AnyAnswer
from tollkeeper.relay.aside import Aside
from tollkeeper.relay.by_bound import QuotaInPlenty
from tollkeeper.relay.call import Call, ClientLeft, Running
from tollkeeper.relay.count_input import InputCounter
from tollkeeper.relay.dispatch.attempt import Attempt
from tollkeeper.relay.dispatch.dispatch import Dispatcher
from tollkeeper.relay.gate import Gate
from tollkeeper.relay.operations import CHAT, Measures, Operation
from tollkeeper.relay.payment import Claims
from tollkeeper.relay.pipeline import Relay, serve
from tollkeeper.relay.time_limits import CallTimeouts
from tollkeeper.settings import Secret
from tollkeeper.storage.ledger.memory_ledger import FiledLot, MemoryAccount, MemoryKey

KEY = "sk-of-the-customer"
UNITS = 1_000_000
LIMITS = CallTimeouts(cut_seconds=100, longest_seconds=600, first_byte_seconds=60, idle_seconds=120)
NO_LIMITS = Rates(key_rate=None, standard_rate=None)

# What is made of anything that a port of a house is: a test may want to watch it.
Made = Callable[[str, Any], Any]


def a_price(model_id: str, *, completion: int = 2, variant: str = "") -> Price:
    """One quota for a token of input, two for one of output; one quota for an image, a character, a second."""
    return Price(
        id=1,
        model_id=model_id,
        effective_from=NOW,
        model=MILLIONTHS,
        completion=completion * MILLIONTHS,
        cached=MILLIONTHS,
        variant=variant,
    )


def cost(usage: Usage) -> int:
    return (usage.input_units + 2 * usage.output_units) * UNITS


def a_model(model_id: str, kind: Kind = Kind.CHAT, limits: TokenCaps | None = None, variant: str = "") -> Model:
    return Model(
        id=model_id,
        kind=kind,
        introduced_at=NOW,
        only_groups=None,
        prices=(a_price(model_id, variant=variant),),
        token_caps=limits or TokenCaps(hold_output_tokens=100, max_output_tokens=4_000),
    )


MODELS = (
    a_model("m"),
    a_model("thinker", limits=TokenCaps(max_output_tokens=200, hidden_reasoning=True)),
    a_model("talker", limits=TokenCaps(max_output_tokens=2_000_000, context_tokens=100_000_000)),
    a_model("painter", Kind.IMAGE, variant="1024x1024"),
    a_model("speaker", Kind.SPEECH),
    a_model("listener", Kind.TRANSCRIPTION),
)


def an_account(account_id: int, **changes: object) -> ProviderAccount:
    account = ProviderAccount(
        id=account_id,
        name=f"account {account_id}",
        vendor="openai",
        base_url=f"https://provider-{account_id}.test/v1",
        secret=Secret("secret of the account"),
    )
    return msgspec.structs.replace(account, **changes)


def chat_body(*, model: str = "m", **more: object) -> bytes:
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}
    return json.dumps(body).encode()


INPUT_TOKENS = read_chat(chat_body()).input_tokens(part_tokens=0)


class Request(msgspec.Struct):
    """What the edge has of a call."""

    request_id: UUID
    address: Address | None = Address.MAIN
    authorization: str | None = f"Bearer {KEY}"
    client: Ip | None = None
    ip: str = ""
    told: list[LimitOutcome] = []
    caller: KeyRecord | None = None
    path: str = "/v1/chat/completions"
    headers: Mapping[bytes, str] = {}
    model: str | None = None
    hold_seconds: float = 0.0
    settled: SettledCall | None = None
    attempts: Sequence[Attempt] = ()

    def header(self, name: bytes) -> str | None:
        return self.headers.get(name)

    def called_by(self, caller: KeyRecord) -> None:
        self.caller = caller

    def note_limits(self, outcome: LimitOutcome, waited_seconds: float | None) -> None:
        self.told.append(outcome)

    def note_hold(self, waited_seconds: float) -> None:
        self.hold_seconds += waited_seconds

    def note_model(self, model_id: str) -> None:
        self.model = model_id

    def note_settled(self, settled: SettledCall, attempts: Sequence[Attempt]) -> None:
        self.settled = settled
        self.attempts = attempts


class Heard(msgspec.Struct):
    """What a caller was told, and what was booked."""

    pieces: Sequence[bytes]
    problem: Exception | None
    receipt: Settlement | None

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def booked(self) -> tuple[Ending, Usage, UsageSource]:
        assert self.receipt is not None, "nothing was held"
        due = self.receipt.charge
        return self.receipt.ending, due.usage, due.source

    @property
    def outcomes(self) -> list[object]:
        """Of the attempts, in order."""
        assert self.receipt is not None, "nothing was held"
        return [attempt["outcome"] for attempt in self.receipt.attempts]


class House:
    def __init__(
        self,
        *replies: Reply,
        accounts: Sequence[ProviderAccount] = (an_account(1), an_account(2)),
        quota: int = 10_000,
        rates: Rates = NO_LIMITS,
        made: Made = lambda _, port: port,
    ) -> None:
        """`replies`: what providers say to the orders that they get, one after another."""
        self.clock = StillClock()
        self.keys = KnownKeys({KEY: RECORD})
        self.catalog = OneShelf(
            Shelf({model.id: model for model in MODELS}, {RECORD.group: MILLIONTHS}, {RECORD.group: rates})
        )
        self.limiter = MemoryLimiter()
        self.pool = MemoryPool(accounts)
        self.upstream = ScriptedUpstream(idle_seconds=LIMITS.idle_seconds, at_hand=self)
        self.upstream.replies.extend(replies)
        self.running = Running()
        self.ledger = Books(self.clock.now)
        self.ledger.accounts[RECORD.account_id] = MemoryAccount()
        self.ledger.keys[RECORD.key_id] = MemoryKey(RECORD.account_id)
        self.credit(quota)
        ledger, clock, aside = made("ledger", self.ledger), made("clock", self.clock), Aside()
        vendors = {"openai": made("vendor", OpenAI()), "anthropic": made("vendor", Anthropic())}
        self.relay = Relay(
            keys=made("keys", self.keys),
            catalog=made("catalog", self.catalog),
            clock=clock,
            ledger=lambda: ledger,
            measures=Measures(InputCounter(), made("lengths", SaidLengths(2_500)), QuotaInPlenty()),
            dispatcher=Dispatcher(
                made("pool", self.pool), vendors, made("upstream", self.upstream), aside, loop_mark="mark"
            ),
            running=self.running,
            gate=Gate(made("limiter", self.limiter), clock, restricted_percent=50, unpaid_running_most=2),
            timeouts=LIMITS,
            aside=aside,
            claims=Claims(CallDigests(b"a secret of the house"), aside),
            figures=CallFigures(["/v1/chat/completions"]),
        )
        # How the limits of each call stood, as its caller is told.
        self.told: list[LimitOutcome] = []
        self.has_body = True
        # Of the calls that are made from now on, beside those that every call has.
        self.headers: Mapping[bytes, str] = {}
        self.call: Call | None = None
        self.before_524: Callable[[], Awaitable[None]] | None = None
        self.answer: AnyAnswer | None = None
        # What went to the caller in the moment it came.
        self.passed_by: list[bytes] = []
        self.on_passed: Callable[[bytes], None] = lambda _: None
        # Whether the caller has room for that.
        self.lets_pass = True

    def credit(self, quota: int) -> None:
        number = len(self.ledger.lots) + 1
        amount = Quota(quota * UNITS)
        lot = Lot(id=number, remaining=amount, expires_at=NOW.replace(year=2027), key_id=None)
        self.ledger.lots[number] = FiledLot(RECORD.account_id, lot, amount, ("test", str(number)))

    async def chat(
        self, *, address: Address = Address.MAIN, reads_pieces: int | None = None, model: str = "m", **body: object
    ) -> Heard:
        return await self.ask(CHAT, chat_body(model=model, **body), address=address, reads_pieces=reads_pieces)

    async def ask(
        self,
        operation: Operation[Any, Any],
        body: object,
        *,
        address: Address = Address.MAIN,
        reads_pieces: int | None = None,
        authorization: str | None = f"Bearer {KEY}",
        request_id: UUID | None = None,
    ) -> Heard:
        """Make a call and hear its answer, as the edge does: all of it; or so many pieces, and then take no more.
        `body`: or what reads it."""

        async def as_given() -> object:
            return body

        read_body: Callable[[], Awaitable[object]] = body if callable(body) else as_given
        request = Request(request_id or uuid4(), address, authorization, told=self.told, headers=self.headers)
        self.call = call = Call(request, self.let_go_of_body)
        pieces: list[bytes] = []

        def take(piece: bytes) -> bool:
            has_room = self.lets_pass and reads_pieces is None
            if has_room:
                pieces.append(piece)
                self.passed_by.append(piece)
                self.on_passed(piece)
            return has_room

        async def hear(answer: AnyAnswer) -> None:
            self.answer = answer
            while piece := await answer.read():
                pieces.append(piece)
                answer.outlet = take
                if len(pieces) == reads_pieces:
                    asyncio.get_running_loop().call_later(LIMITS.longest_seconds, answer.client_stuck)
                    await asyncio.Event().wait()

        problem: Exception | None = None
        try:
            await serve(call, operation, read_body, self.relay, hear)
        except (GatewayError, ClientLeft) as told:
            problem = told
        receipts = [receipt for receipt in self.ledger.receipts if receipt.request_id == request.request_id]
        return Heard(pieces, problem, receipts[0] if receipts else None)

    def let_go_of_body(self) -> None:
        self.has_body = False

    def check(self) -> None:
        """Everything that was taken was given back."""
        self.ledger.check()
        assert self.pool.taken == [], "a seat at a provider account is still taken"
        assert self.upstream.open == [], "a connection to a provider is still open"
        assert self.limiter.running == set(), "a place among the calls under way is still taken"
        assert self.running._calls == set(), "a call that is over is still known"
        assert not self.upstream.replies, "a provider was not asked"
        plenty = self.relay.measures.plenty
        assert (plenty._held, plenty._kept_characters) == ({}, 0), "a call that is over still holds by a bound"

    # What may happen while a call is under way: steps of a provider's reply.

    def client_leaves(self) -> None:
        assert self.answer is not None
        self.answer.client_left()

    def client_is_stuck(self) -> None:
        assert self.answer is not None
        self.answer.client_stuck()

    def check_that_content_is_forgotten(self) -> None:
        assert self.answer is not None
        assert (self.answer._order.body, self.answer._order.texts, self.answer._order.fields) == (b"", (), {})

    def edge_cuts(self) -> None:
        assert self.call is not None
        self.before_524 = self.call.cut()

    async def tell_of_cut(self) -> None:
        """What the edge does before the caller has the 524, a moment after the cut."""
        assert self.before_524 is not None
        await self.before_524()

    def node_stops(self) -> None:
        self.running.end_all()

    def key_is_revoked(self) -> None:
        self._change_key(revoked=True)

    def key_expires(self) -> None:
        self._change_key(expires_at=NOW)

    def key_is_paused(self) -> None:
        self._change_key(paused=True)

    def key_is_gone(self) -> None:
        self.keys.records.clear()

    def keys_are_away(self) -> None:
        self.keys.is_away = True

    def account_is_disabled(self) -> None:
        self._change_key(account_disabled=True)

    def fence(self) -> None:
        """Another has settled the call, taking this process for dead."""
        assert self.call is not None
        died = Charge(Quota(0), Usage(0), UsageSource.CHECKPOINT)
        self.ledger.settle(
            Settlement(request_id=self.call.request.request_id, account_id=1, charge=died, ending=Ending.OWNER_DIED)
        )

    def is_fenced(self) -> None:
        self.ledger.is_fenced = True

    def another_settles_our_calls(self) -> None:
        self.ledger.is_taken_for_dead = True

    def _change_key(self, **changes: object) -> None:
        self.keys.records[KEY] = msgspec.structs.replace(self.keys.records[KEY], **changes)


def events(*choices: Mapping[str, object], usage: object = None) -> bytes:
    return b"data: " + json.dumps({"choices": choices, "usage": usage}).encode() + b"\n\n"


def words(count: int) -> list[bytes]:
    return [events({"index": 0, "delta": {"content": " river"}, "finish_reason": None}) for _ in range(count)]


def report(input_tokens: int, output_tokens: int) -> bytes:
    return events(usage={"prompt_tokens": input_tokens, "completion_tokens": output_tokens})


FINISH = events({"index": 0, "delta": {}, "finish_reason": "stop"})
DONE = b"data: [DONE]\n\n"


def whole(count: int, usage: tuple[int, int] | None = None) -> bytes:
    """An answer of so many words that comes in one piece."""
    choice = {"index": 0, "message": {"role": "assistant", "content": " river" * count}, "finish_reason": "stop"}
    reported = {"prompt_tokens": usage[0], "completion_tokens": usage[1]} if usage else None
    return json.dumps({"choices": [choice], "usage": reported}).encode()
