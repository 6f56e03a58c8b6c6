"""Dispatch: send an order to one provider account after another until one begins to answer well.

Rules of this file
1. Another account is tried only before the caller has seen anything. Accounts already tried are not tried again.
2. A provider's own troubles (its key, its limits, its failures) are ours: the caller hears of none of them but 503.
3. What a provider rejects as malformed is the caller's to correct. It costs nothing, and no other account is asked.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn
from uuid import UUID

import msgspec

from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.errors import BadRequest, ProviderRejected, ProviderUnavailable
from tollkeeper.core.health import Trouble, trouble_of
from tollkeeper.core.media import MediaOrder
from tollkeeper.core.meter import NotAnAnswer
from tollkeeper.core.prices import MILLIONTHS
from tollkeeper.core.provider_errors import read_rejection
from tollkeeper.ports import (
    Failure,
    Headers,
    ProviderAccount,
    Speech,
    Upstream,
    UpstreamAnswer,
    UpstreamFailed,
    UpstreamRequest,
    Vendor,
)
from tollkeeper.ports.pool import Pool, Seat
from tollkeeper.steady import Within

LOOP_HEADER = "x-tollkeeper-loop"
REFUSED = "refused"
REJECTED = frozenset({400, 413, 422})
REJECTION_BYTES_MOST = 64 * 1024
REJECTION_SECONDS = 5.0
RETRY_AFTER_SECONDS_MOST = 60
BACKOFF_SECONDS = 0.02

Order = ChatOrder | MediaOrder
Take = Callable[[UpstreamAnswer], Awaitable[bytes]]


class Attempt(msgspec.Struct):
    """One sending of an order to one provider account, as the receipt tells it."""

    account: str
    outcome: str = ""
    status: int | None = None
    first_byte_ms: int | None = None
    ms: int | None = None
    begun: float = 0.0
    sent: bool = False
    # What the account costs us, in millionths of the list price.
    cost_share: int = MILLIONTHS

    def note_sent(self) -> None:
        self.sent = True

    def end(self, outcome: str) -> None:
        self.outcome = outcome
        self.ms = _milliseconds_since(self.begun)

    @property
    def may_have_cost(self) -> bool:
        """Whether the provider has the order and has not refused it."""
        return self.sent and self.outcome != REFUSED

    def told(self, ending: str, cost: int) -> Mapping[str, object]:
        """For the receipt; an attempt with no outcome of its own ended as its call did."""
        ms = _milliseconds_since(self.begun) if self.ms is None else self.ms
        shown: dict[str, object] = {"account": self.account, "outcome": self.outcome or ending, "ms": ms, "cost": cost}
        if self.status is not None:
            shown["status"] = self.status
        if self.first_byte_ms is not None:
            shown["first_byte_ms"] = self.first_byte_ms
        return shown


class Journey(msgspec.Struct):
    """What is to be done with an order, and how far it has come."""

    request_id: UUID
    tokens: int
    most_attempts: int
    first_byte_seconds: float
    # What the model can answer, for vendors that must be told.
    most_output_tokens: int
    # Whether there is still anybody for whom it would be worth trying again.
    is_awaited: Callable[[], bool]
    attempts: list[Attempt] = []


class Delivery(msgspec.Struct):
    """An answer that began well, and the seat it is given from."""

    answer: UpstreamAnswer
    seat: Seat
    first: bytes


class _Errand(msgspec.Struct):
    """A seat, and what to send to its account."""

    seat: Seat
    vendor: Vendor
    address: str
    headers: Headers
    body: bytes


class _Failed(Exception):
    """An attempt that may be followed by another. `failure` where nobody knows what became of the order."""

    def __init__(
        self,
        trouble: Trouble | None,
        *,
        failure: Failure | None = None,
        status: int = 0,
        retry_after: str | None = None,
    ) -> None:
        self.trouble = trouble
        self.failure = failure
        self.outcome = REFUSED if failure is None else failure.value
        self.because = f"its key was refused with {status}" if trouble is Trouble.CREDENTIAL else self.outcome
        self.retry_after_seconds = seconds_in(retry_after)
        super().__init__(self.because)


class Dispatcher:
    def __init__(self, pool: Pool, vendors: Mapping[str, Vendor], upstream: Upstream, *, loop_mark: str) -> None:
        """`loop_mark` goes with every order: a call that comes in with it has come from here."""
        self._pool = pool
        self._vendors = vendors
        self._upstream = upstream
        self._loop_mark = loop_mark

    async def deliver(self, order: Order, journey: Journey, take: Take) -> Delivery:
        """The first answer of which `take` can make something. Raise a refusal, or UpstreamFailed where nobody knows
        what became of the order."""
        tried: set[int] = set()
        errand = await self._find_seat(order, journey, tried)
        if errand is None:
            raise self._unavailable()
        while True:
            try:
                return await self._attempt(order, journey, errand, take)
            except _Failed as failed:
                failure = failed
            attempts = len(journey.attempts)
            if failure.trouble is Trouble.SERVER:
                await asyncio.sleep(BACKOFF_SECONDS * attempts)
            if attempts >= journey.most_attempts or not journey.is_awaited():
                raise self._told(failure)
            another = await self._find_seat(order, journey, tried)
            if another is None:
                raise self._told(failure)
            if failure.trouble is Trouble.SERVER and not self._pool.may_try_again():
                another.seat.leave()
                raise self._told(failure)
            errand = another

    async def _find_seat(self, order: Order, journey: Journey, tried: set[int]) -> "_Errand | None":
        """A seat at an account that can do what is asked, and what to send there. Raise what stands against the order
        where nobody who serves the model could do it."""
        refusal: BadRequest | None = None
        unfit: set[Speech] = set()
        while (account := await self._pool.choose(order.model, tried=tried, unfit=unfit)) is not None:
            vendor = self._vendors[account.vendor]
            try:
                request = _request(order, account, vendor, journey)
            except BadRequest as problem:
                # Nothing was sent. An account of another vendor may know how.
                refusal = problem
                unfit.add(account.speech)
                continue
            tried.add(account.id)
            return _Errand(self._pool.seat(account, tokens=journey.tokens), vendor, *request)
        if refusal is not None and not journey.attempts and not self._pool.serves(order.model, unfit=unfit):
            raise refusal
        return None

    def _told(self, failed: _Failed) -> Exception:
        """What the caller hears of the last failure."""
        return UpstreamFailed(failed.failure) if failed.failure else self._unavailable()

    async def _attempt(self, order: Order, journey: Journey, errand: "_Errand", take: Take) -> Delivery:
        seat = errand.seat
        attempt = Attempt(seat.account.name, begun=time.monotonic(), cost_share=seat.account.cost)
        journey.attempts.append(attempt)
        delivery: Delivery | None = None
        try:
            delivery = await self._begin(order, journey, errand, take)
            seat.succeed(time.monotonic() - attempt.begun)
        except (TimeoutError, UpstreamFailed, NotAnAnswer, _Failed) as problem:
            failed = _failed(problem)
            attempt.end(failed.outcome)
            if failed.trouble is not None:
                seat.fail(failed.trouble, failed.because, failed.retry_after_seconds)
            raise failed from problem
        finally:
            if delivery is None:
                seat.leave()
        return delivery

    async def _begin(self, order: Order, journey: Journey, errand: "_Errand", take: Take) -> Delivery:
        """Send, and hear the beginning of the answer."""
        attempt = journey.attempts[-1]
        headers = (*errand.headers, ("x-request-id", str(journey.request_id)), (LOOP_HEADER, self._loop_mark))
        answer = await self._upstream.send(
            UpstreamRequest(errand.address, headers, errand.body, journey.first_byte_seconds, attempt.note_sent)
        )
        first: bytes | None = None
        try:
            attempt.status = answer.status
            attempt.first_byte_ms = _milliseconds_since(attempt.begun)
            if answer.status != 200:
                attempt.end(REFUSED)
                await _refuse(answer, errand)
            answer = errand.vendor.told(answer, order)
            if order.stream:
                async with Within(attempt.begun + journey.first_byte_seconds - time.monotonic()):
                    first = await take(answer)
            else:
                # It begins when it is complete, and has as long as its call has.
                first = await take(answer)
        finally:
            if first is None:
                await answer.close()
        return Delivery(answer, errand.seat, first)

    def _unavailable(self) -> ProviderUnavailable:
        refusal = ProviderUnavailable()
        seconds = self._pool.seconds_until_seats()
        if seconds is not None:
            refusal.retry_after_seconds = min(max(1, math.ceil(seconds)), RETRY_AFTER_SECONDS_MOST)
        return refusal


def _request(order: Order, account: ProviderAccount, vendor: Vendor, journey: Journey) -> tuple[str, Headers, bytes]:
    if isinstance(order, ChatOrder):
        return vendor.chat(order, account, most_output_tokens=journey.most_output_tokens)
    return vendor.media(order, account)


def _failed(problem: Exception) -> _Failed:
    if isinstance(problem, _Failed):
        return problem
    if isinstance(problem, UpstreamFailed):
        return _Failed(Trouble.SERVER, failure=problem.failure)
    silent = isinstance(problem, TimeoutError)
    return _Failed(Trouble.SERVER, failure=Failure.SILENT if silent else Failure.BROKEN)


async def _refuse(answer: UpstreamAnswer, errand: _Errand) -> NoReturn:
    body = await _rejection(answer) if answer.status in REJECTED else b""
    status = errand.vendor.meaning(answer.status, body)
    if status not in REJECTED:
        retry_after = answer.header("retry-after")
        trouble = trouble_of(status, says_when=retry_after is not None)
        raise _Failed(trouble, status=status, retry_after=retry_after)
    rejection = read_rejection(body, errand.seat.account.secret.reveal())
    raise ProviderRejected(rejection.message, param=rejection.param, code=rejection.code)


async def _rejection(answer: UpstreamAnswer) -> bytes:
    """What the provider says, as far as it says it soon."""
    body = bytearray()
    try:
        async with asyncio.timeout(REJECTION_SECONDS):
            while len(body) < REJECTION_BYTES_MOST and (piece := await answer.read()):
                body += piece
    except (TimeoutError, UpstreamFailed):
        body.clear()
    return bytes(body)


def seconds_in(retry_after: str | None) -> float | None:
    """What a Retry-After header says in seconds; dates are not worth reading."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _milliseconds_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1_000)
