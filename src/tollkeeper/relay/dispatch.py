"""Dispatch: send an order to one provider account after another until one begins to answer well.

Rules of this file
1. Another account is tried only before the caller has seen anything. Accounts already tried are not tried again.
2. A provider's own troubles (its key, its limits, its failures) are ours: the caller hears of none of them but 503.
3. What a provider rejects as malformed is the caller's to correct. It costs nothing, and no other account is asked.
4. An answer that is too long is what the caller asked for: no other account is asked, and none is blamed.
5. A failed attempt is told as a value. An exception that is kept holds the frames that it came through, and with them
   the bodies of request and answer.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NoReturn
from uuid import UUID

import msgspec

from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.errors import BadRequest, ProviderRejected, ProviderUnavailable
from tollkeeper.core.health import Trouble
from tollkeeper.core.media import MediaOrder
from tollkeeper.core.meter import AnswerTooLong, NotAnAnswer
from tollkeeper.core.provider_errors import read_rejection
from tollkeeper.core.provider_status import SPOKEN, Told, meaning_of
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
from tollkeeper.relay.aside import Aside
from tollkeeper.relay.attempt import REFUSED, TOO_LONG, Attempt, Setback, milliseconds_since
from tollkeeper.relay.provider_refusal import rejected, words_of
from tollkeeper.steady import Within

LOOP_HEADER = "x-tollkeeper-loop"
RETRY_AFTER_SECONDS_MOST = 60
BACKOFF_SECONDS = 0.02

Order = ChatOrder | MediaOrder
Take = Callable[[UpstreamAnswer], Awaitable[bytes]]


class Journey(msgspec.Struct):
    """What is to be done with an order, and how far it has come."""

    request_id: UUID
    # Whose call it is: what it meets at a provider account may be of this customer's own making.
    customer: int
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
    """An account, and what to send to it."""

    account: ProviderAccount
    vendor: Vendor
    address: str
    headers: Headers
    body: bytes


class _Failed(Exception):
    """Raised where an attempt fails, and caught where the attempt was begun."""

    def __init__(self, setback: Setback) -> None:
        self.setback = setback
        super().__init__(setback.because)


class Dispatcher:
    def __init__(
        self, pool: Pool, vendors: Mapping[str, Vendor], upstream: Upstream, aside: Aside, loop_mark: str
    ) -> None:
        """`loop_mark` goes with every order: a call that comes in with it has come from here."""
        self._pool = pool
        self._vendors = vendors
        self._upstream = upstream
        self._loop_mark = loop_mark
        self._aside = aside

    async def deliver(self, order: Order, journey: Journey, take: Take) -> Delivery:
        """The first answer of which `take` can make something. Raise a refusal, UpstreamFailed where nobody knows what
        became of the order, or AnswerTooLong."""
        tried: set[int] = set()
        errand = await self._find_account(order, journey, tried)
        if errand is None:
            raise self._unavailable()
        while True:
            outcome = await self._attempt(order, journey, errand, take)
            if isinstance(outcome, Delivery):
                return outcome
            attempts = len(journey.attempts)
            if outcome.trouble is Trouble.SERVER:
                await asyncio.sleep(BACKOFF_SECONDS * attempts)
            if attempts >= journey.most_attempts or not journey.is_awaited():
                raise self._told(outcome, journey)
            another = await self._find_account(order, journey, tried)
            if another is None:
                raise self._told(outcome, journey)
            if outcome.trouble is Trouble.SERVER and not self._pool.may_try_again(by=journey.customer):
                raise self._told(outcome, journey)
            errand = another

    async def _find_account(self, order: Order, journey: Journey, tried: set[int]) -> "_Errand | None":
        """An account that can do what is asked, and what to send there. Raise what stands against the order where
        nobody who serves the model could do it."""
        refusal: BadRequest | None = None
        by = journey.customer
        unfit: set[Speech] = set()
        while (account := await self._pool.choose(order.model, by=by, tried=tried, unfit=unfit)) is not None:
            vendor = self._vendors[account.vendor]
            try:
                request = await self._aside.write(order, partial(_request, order, account, vendor, journey))
            except BadRequest as problem:
                # Nothing was sent. An account of another vendor may know how.
                refusal = problem
                unfit.add(account.speech)
                continue
            tried.add(account.id)
            return _Errand(account, vendor, *request)
        if refusal is not None and not journey.attempts and not self._pool.serves(order.model, unfit=unfit):
            raise refusal
        return None

    def _told(self, setback: Setback, journey: Journey) -> Exception:
        """What the caller hears of the last failure."""
        if Told.LATER not in {attempt.told_as for attempt in journey.attempts}:
            return rejected(setback.told_as)
        return UpstreamFailed(setback.failure) if setback.failure else self._unavailable()

    async def _attempt(self, order: Order, journey: Journey, errand: "_Errand", take: Take) -> Delivery | Setback:
        account = errand.account
        attempt = Attempt(account.name, begun=time.monotonic(), cost_share=account.cost)
        journey.attempts.append(attempt)
        seat = self._pool.seat(account, by=journey.customer, tokens=journey.tokens)
        delivery: Delivery | None = None
        try:
            delivery = await self._begin(order, journey, errand, seat, take)
        except AnswerTooLong:
            attempt.end(TOO_LONG)
            raise
        except (TimeoutError, UpstreamFailed, NotAnAnswer, _Failed) as problem:
            setback = _setback(problem)
            attempt.end(setback.outcome)
            attempt.told_as = setback.told_as
            if setback.trouble is not None:
                seat.fail(setback.trouble, setback.because, setback.retry_after_seconds)
            return setback
        finally:
            if delivery is None:
                seat.leave()
        return delivery

    async def _begin(self, order: Order, journey: Journey, errand: "_Errand", seat: Seat, take: Take) -> Delivery:
        """Send, and hear the beginning of the answer."""
        attempt = journey.attempts[-1]
        headers = (*errand.headers, ("x-request-id", str(journey.request_id)), (LOOP_HEADER, self._loop_mark))
        answer = await self._upstream.send(
            UpstreamRequest(errand.address, headers, errand.body, journey.first_byte_seconds, attempt.note_sent)
        )
        delivery: Delivery | None = None
        try:
            attempt.status = answer.status
            attempt.first_byte_ms = milliseconds_since(attempt.begun)
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
            seat.succeed(time.monotonic() - attempt.begun)
            delivery = Delivery(answer, seat, first)
        finally:
            if delivery is None:
                await answer.close()
        return delivery

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


def _setback(problem: Exception) -> Setback:
    if isinstance(problem, _Failed):
        return problem.setback
    if isinstance(problem, UpstreamFailed):
        return Setback(trouble=Trouble.SERVER, failure=problem.failure)
    silent = isinstance(problem, TimeoutError)
    return Setback(trouble=Trouble.SERVER, failure=Failure.SILENT if silent else Failure.BROKEN)


async def _refuse(answer: UpstreamAnswer, errand: _Errand) -> NoReturn:
    body = await words_of(answer) if answer.status in SPOKEN else b""
    status = errand.vendor.meaning(answer.status, body)
    retry_after = answer.header("retry-after")
    meaning = meaning_of(status, body, says_when=retry_after is not None)
    if meaning.told is not Told.ITS_WORDS:
        setback = Setback(trouble=meaning.trouble, status=status, retry_after=retry_after, told_as=meaning.told)
        raise _Failed(setback)
    rejection = read_rejection(body, errand.account.secret.reveal())
    raise ProviderRejected(rejection.message, param=rejection.param, code=rejection.code)
