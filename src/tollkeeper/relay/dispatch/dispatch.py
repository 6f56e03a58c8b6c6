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

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.media import MediaOrder
from tollkeeper.core.calls.meter import AnswerTooLong, NotAnAnswer
from tollkeeper.core.errors import BadRequest, ProviderRejected, ProviderUnavailable
from tollkeeper.core.pool.health import Trouble
from tollkeeper.core.pool.provider_errors import ModelNames, read_rejection
from tollkeeper.core.pool.provider_status import SPOKEN, ShownAs
from tollkeeper.ports import (
    Capabilities,
    Failure,
    Headers,
    ProviderAccount,
    Upstream,
    UpstreamAnswer,
    UpstreamFailed,
    UpstreamRequest,
    Vendor,
)
from tollkeeper.ports.providers.pool import Pool, Seat
from tollkeeper.relay.aside import Aside, has_large_body
from tollkeeper.relay.dispatch.attempt import REFUSED, TOO_LONG, Attempt, Setback, milliseconds_since, setback_of
from tollkeeper.relay.dispatch.count_at import count_at
from tollkeeper.relay.dispatch.journey import Delivery, Journey
from tollkeeper.relay.dispatch.prepared import PreparedRequest, lacks_a_price, prepare, speaks_its_dialect, translated
from tollkeeper.relay.dispatch.provider_refusal import rejected, words_of
from tollkeeper.relay.dispatch.renamed import RenamedAnswer
from tollkeeper.relay.dispatch.unspoken import NO_SUCH_ADDRESS, UnspokenDialects, is_about_the_address
from tollkeeper.relay.time_limits import ATTEMPTS_MOST
from tollkeeper.steady import Timeout

LOOP_HEADER = "x-tollkeeper-loop"
RETRY_AFTER_SECONDS_MOST = 60
BACKOFF_SECONDS = 0.02
# For the first byte of a count.
COUNT_SECONDS = 5.0

AnyOrder = ChatOrder | MediaOrder
Take = Callable[[UpstreamAnswer], Awaitable[bytes]]


class _AttemptFailed(Exception):
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
        self._unspoken = UnspokenDialects()
        self._aside = aside

    async def deliver(self, order: AnyOrder, journey: Journey, take: Take) -> Delivery:
        """The first answer of which `take` can make something. Raise a refusal, UpstreamFailed where nobody knows what
        became of the order, or AnswerTooLong."""
        tried: set[int] = set()
        prepared = await self._find_account(order, journey, tried)
        # The caller may have left while the call waited for its hold.
        if prepared is None or not journey.is_awaited():
            raise self._unavailable(order.model)
        while True:
            outcome = await self._attempt(order, journey, prepared, take)
            if isinstance(outcome, Delivery):
                return outcome
            attempts = len(journey.attempts)
            if outcome.trouble is Trouble.SERVER:
                await asyncio.sleep(BACKOFF_SECONDS * attempts)
            if attempts >= journey.most_attempts or not journey.is_awaited():
                raise self._error_for_caller(outcome, order.model, journey)
            another = await self._find_account(order, journey, tried)
            if another is None:
                raise self._error_for_caller(outcome, order.model, journey)
            if outcome.trouble is Trouble.SERVER and not self._pool.may_try_again(by=journey.customer):
                raise self._error_for_caller(outcome, order.model, journey)
            prepared = another

    async def _find_account(self, order: AnyOrder, journey: Journey, tried: set[int]) -> PreparedRequest | None:
        """An account that can do what is asked, and what to send there. Raise what stands against the order where
        nobody who serves the model could do it."""
        refusal: BadRequest | None = None
        by = journey.customer
        unfit: set[Capabilities] = set()
        is_unspoken = False
        # Who failed over is sent where it is answered soonest. The conversation's next call goes home again.
        conversation = order.conversation if isinstance(order, ChatOrder) and not tried else None
        choose = partial(self._pool.choose, order.model, by=by, tried=tried, unfit=unfit, conversation=conversation)
        while (account := await choose()) is not None:
            vendor = self._vendors[account.vendor]
            try:
                prepared = await self._prepare(order, journey, account, vendor)
            except BadRequest as problem:
                # Nothing was sent. An account of another vendor may know how, or another one of the same.
                refusal = problem
                if speaks_its_dialect(order, account, vendor) and not lacks_a_price(order):
                    is_unspoken = True
                    tried.add(account.id)
                else:
                    unfit.add(account.capabilities)
                continue
            tried.add(account.id)
            return prepared
        if refusal is None or journey.attempts:
            return None
        if is_unspoken or not self._pool.serves(order.model, unfit=unfit):
            raise refusal
        return None

    async def _prepare(
        self, order: AnyOrder, journey: Journey, account: ProviderAccount, vendor: Vendor
    ) -> PreparedRequest:
        """What to send to an account: in the caller's own dialect, where it speaks that. Raise BadRequest."""
        is_native = speaks_its_dialect(order, account, vendor)
        if is_native and isinstance(order, ChatOrder) and order.native is not None:
            is_native = not self._unspoken.has(account, order.native.dialect)
        most_output_tokens = journey.most_output_tokens
        work = partial(prepare, order, account, vendor, most_output_tokens=most_output_tokens, is_native=is_native)
        return await self._aside.run(len(order.body), work) if has_large_body(order) else work()

    async def count(self, order: ChatOrder, request_id: UUID, customer: int) -> int | None:
        """What a provider that speaks the order's dialect counts; None where there is none, or none says."""
        tried: set[int] = set()
        unfit: set[Capabilities] = set()
        while len(tried) < ATTEMPTS_MOST:
            account = await self._pool.choose(order.model, by=customer, tried=tried, unfit=unfit)
            if account is None:
                return None
            vendor = self._vendors[account.vendor]
            if not speaks_its_dialect(order, account, vendor):
                unfit.add(account.capabilities)
                continue
            tried.add(account.id)
            seat = self._pool.seat(account, model_id=order.model, by=customer, tokens=0)
            try:
                counted = await self._count_at(seat, order, request_id, vendor)
            finally:
                seat.leave()
            if counted is not None:
                return counted
        return None

    async def _count_at(self, seat: Seat, order: ChatOrder, request_id: UUID, vendor: Vendor) -> int | None:
        work = partial(vendor.chat, order, seat.account, most_output_tokens=1)
        try:
            address, headers, body = await self._aside.run(len(order.body), work)
        except BadRequest:
            return None
        request = UpstreamRequest(address, (*headers, *self._marks(request_id)), body, COUNT_SECONDS)
        try:
            return await count_at(await self._upstream.send(request), seat, vendor)
        except UpstreamFailed as problem:
            if problem.failure is Failure.UNREACHABLE:
                seat.fail(Trouble.SERVER, problem.failure)
            return None

    def _error_for_caller(self, setback: Setback, model_id: str, journey: Journey) -> Exception:
        """What the caller hears of the last failure."""
        if ShownAs.LATER not in {attempt.shown_as for attempt in journey.attempts}:
            return rejected(setback.shown_as)
        return UpstreamFailed(setback.failure) if setback.failure else self._unavailable(model_id)

    async def _attempt(
        self, order: AnyOrder, journey: Journey, prepared: PreparedRequest, take: Take
    ) -> Delivery | Setback:
        account = prepared.account
        attempt = Attempt(account.name, begun=time.monotonic(), cost_share=account.cost, provider=account)
        journey.attempts.append(attempt)
        seat = self._pool.seat(account, model_id=order.model, by=journey.customer, tokens=journey.tokens)
        delivery: Delivery | None = None
        try:
            delivery = await self._begin(order, journey, prepared, seat, take)
        except AnswerTooLong:
            attempt.end(TOO_LONG)
            raise
        except (TimeoutError, UpstreamFailed, NotAnAnswer, _AttemptFailed) as problem:
            setback = _setback(problem)
            attempt.end(setback.outcome)
            attempt.shown_as = setback.shown_as
            if setback.trouble is not None:
                seat.fail(setback.trouble, setback.because, setback.retry_after_seconds)
            return setback
        finally:
            if delivery is None:
                seat.leave()
        return delivery

    async def _begin(
        self, order: AnyOrder, journey: Journey, prepared: PreparedRequest, seat: Seat, take: Take
    ) -> Delivery:
        """Send, and hear the beginning of the answer."""
        attempt = journey.attempts[-1]
        answer = await self._send(prepared, journey)
        if prepared.is_native and answer.status in NO_SUCH_ADDRESS:
            prepared, answer = await self._send_in_chat(order, journey, prepared, answer)
        delivery: Delivery | None = None
        try:
            attempt.status = answer.status
            attempt.first_byte_ms = milliseconds_since(attempt.begun)
            if answer.status != 200:
                attempt.end(REFUSED)
                await _refuse(answer, prepared, order.model)
            answer = translated(answer, order, prepared)
            if not answer.is_translated and prepared.account.name_of(order.model) != order.model:
                answer = RenamedAnswer(answer, order.model)
            if order.stream:
                async with Timeout(attempt.begun + journey.first_byte_seconds - time.monotonic()):
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

    def _send(self, prepared: PreparedRequest, journey: Journey) -> Awaitable[UpstreamAnswer]:
        headers = (*prepared.headers, *self._marks(journey.request_id))
        return self._upstream.send(
            UpstreamRequest(prepared.address, headers, prepared.body, journey.first_byte_seconds, journey.note_sending)
        )

    def _marks(self, request_id: UUID) -> Headers:
        return ("x-request-id", str(request_id)), (LOOP_HEADER, self._loop_mark)

    async def _send_in_chat(
        self, order: AnyOrder, journey: Journey, prepared: PreparedRequest, refused: UpstreamAnswer
    ) -> tuple[PreparedRequest, UpstreamAnswer]:
        """The same attempt once more: an account that has no address for the caller's dialect has made nothing."""
        try:
            body = await words_of(refused)
        finally:
            await refused.close()
        journey.attempts[-1].status = refused.status
        if not (is_about_the_address(refused.status, body) and isinstance(order, ChatOrder) and order.native):
            raise _AttemptFailed(setback_of(refused, body, prepared.vendor))
        self._unspoken.note(prepared.account, order.native.dialect)
        try:
            prepared = await self._prepare(order, journey, prepared.account, prepared.vendor)
        except BadRequest:
            raise _AttemptFailed(Setback(trouble=None, status=refused.status)) from None
        return prepared, await self._send(prepared, journey)

    def _unavailable(self, model_id: str) -> ProviderUnavailable:
        refusal = ProviderUnavailable()
        seconds = self._pool.seconds_until_seats(model_id)
        if seconds is not None:
            refusal.retry_after_seconds = min(max(1, math.ceil(seconds)), RETRY_AFTER_SECONDS_MOST)
        return refusal


def _setback(problem: Exception) -> Setback:
    if isinstance(problem, _AttemptFailed):
        return problem.setback
    if isinstance(problem, UpstreamFailed):
        return Setback(trouble=Trouble.SERVER, failure=problem.failure)
    silent = isinstance(problem, TimeoutError)
    return Setback(trouble=Trouble.SERVER, failure=Failure.SILENT if silent else Failure.BROKEN)


async def _refuse(answer: UpstreamAnswer, prepared: PreparedRequest, model_id: str) -> NoReturn:
    body = await words_of(answer) if answer.status in SPOKEN else b""
    setback = setback_of(answer, body, prepared.vendor)
    if setback.shown_as is not ShownAs.ITS_WORDS:
        raise _AttemptFailed(setback)
    names = ModelNames(prepared.account.name_of(model_id), model_id)
    rejection = read_rejection(body, prepared.account.secret.reveal(), names)
    raise ProviderRejected(rejection.message, param=rejection.param, code=rejection.code)
