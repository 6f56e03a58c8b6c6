"""One call, from credentials to settled bill.

Read this file first. Every stage is one line in `serve` and one module beside this one; each either returns a value for
the next or raises a refusal, which the edge turns into the response. The statuses that a stage can raise stand at the
end of its line.

The answer is handed to whoever sends it, not returned: a streamed body outlives the function that opened it, and the
bill can only be settled after its last piece. Whatever happens while it is sent (the answer ends, the provider breaks
off, the client hangs up, time runs out, the node stops), control comes back here exactly once. `serve` closes all that
it opened for the call: its place in the windows of its rate limits, its hold, its seat at a provider account.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.calls.conditions import read_conditions
from tollkeeper.core.calls.endings import ending_of
from tollkeeper.core.money.charge import Ending
from tollkeeper.metrics.calls import CallFigures
from tollkeeper.ports import Catalog, Clock, Keys, Ledger
from tollkeeper.relay.admit import admit
from tollkeeper.relay.answers.whole import AnyAnswer, OrderType
from tollkeeper.relay.aside import Aside, Came
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call, Running
from tollkeeper.relay.call_share import CallShare
from tollkeeper.relay.dispatch.attempt import Attempt
from tollkeeper.relay.dispatch.dispatch import Dispatcher
from tollkeeper.relay.dispatch.journey import Journey
from tollkeeper.relay.gate import Gate
from tollkeeper.relay.operations import Measures, Operation
from tollkeeper.relay.payment import Claims, must_count, terms_of
from tollkeeper.relay.time_limits import ATTEMPTS_MOST, CallTimeouts

SendResult = TypeVar("SendResult")

# Endings without a reader of the answer: what the provider has sent until then must still be counted.
WITHOUT_CALLER = frozenset({Ending.CLIENT_LEFT, Ending.REVOKED})


class Relay(msgspec.Struct, frozen=True, kw_only=True):
    """The collaborators of a call. Built once, in `tollkeeper.app`."""

    keys: Keys
    catalog: Catalog
    clock: Clock
    # The ledger of this moment's life: one that is taken for dead is followed by another.
    ledger: Callable[[], Ledger]
    measures: Measures
    dispatcher: Dispatcher
    running: Running
    gate: Gate
    timeouts: CallTimeouts
    aside: Aside
    claims: Claims
    figures: CallFigures


async def serve(
    call: Call,
    operation: Operation[Came, OrderType],
    read_body: Callable[[], Awaitable[Came]],
    relay: Relay,
    send: Callable[[AnyAnswer], Awaitable[SendResult]],
) -> SendResult:
    """Let `send` have the answer to `call`, and settle the bill when it has done with it. Return what it returned. The
    body is read after admission."""
    request, timeouts = call.request, relay.timeouts
    caller = await admit(request.authorization, request.client, relay.keys, relay.clock)  # 401 403
    request.called_by(caller)
    conditions = read_conditions(request.header)  # 400
    rates = (await relay.catalog.shelf()).rates_of(caller)
    relay.gate.reject_if_known_full(request, caller, rates, operation.kind)  # 429
    reading = relay.claims.read(operation.read, await call.read_body(read_body), call, caller, conditions)
    order, claim = await reading  # 400 403 413
    # The body may have taken a minute: the price is that of the book as it is now.
    shelf = await relay.catalog.shelf()
    offer = shelf.find(order, operation.kind, caller, relay.clock.now())  # 400 404
    request.note_model(offer.model.id)
    ask = await operation.ask(order, offer, caller, relay.measures, must_count(conditions, rates))  # 400 503
    payment = terms_of(order, ask, offer, conditions, claim)  # 400
    asked = relay.measures.asked(payment.ask, order, caller)
    tokens = 0 if ask.measured else ask.likely_input_units
    place = await relay.gate.enter(request, caller, rates, operation.kind, offer.model.id, tokens=tokens)  # 429
    share = CallShare(asked, relay.gate, place)
    # Nothing stands between these lines, nor between the hold and its `try`: what is taken is closed.
    try:
        bill = Bill(call, payment, asked, offer, relay.ledger(), hold_seconds=timeouts.hold_seconds)
        call.is_streamed, call.note_cut = order.stream, bill.note_cut
        journey = _journey_of(call, bill, tokens, timeouts.first_byte(streamed=order.stream))
        deliver = partial(relay.dispatcher.deliver, order, journey)
        answer = operation.answer(call, order, bill, deliver, timeouts.longest_seconds)
        answer.aside = relay.aside
        await bill.hold()  # 403 409 422 503
        try:
            async with call.endable(timeouts.of(request.address, streamed=order.stream), among=relay.running):
                return await send(answer)  # 400 503
        finally:
            order.forget_content()
            try:
                if call.ended_as in WITHOUT_CALLER and not relay.running.is_over:
                    await answer.read_unread()
                if _is_count_due(answer, call, bill, journey.attempts):
                    await bill.asked.count()
            finally:
                try:
                    # The caller has everything, and may call again.
                    share.give_back(_settle(answer, call, bill, journey.attempts, relay.figures))
                finally:
                    # A process that stops waits for the calls that it knows of.
                    relay.running.discard(call)
                    await answer.close()
                    await bill.close()
    finally:
        share.give_back()


def _journey_of(call: Call, bill: Bill, tokens: int, first_byte_seconds: float) -> Journey:
    return Journey(
        request_id=call.request.request_id,
        customer=bill.asked.caller.account_id,
        tokens=tokens,
        most_attempts=1 if call.request.address is Address.BACKUP else ATTEMPTS_MOST,
        first_byte_seconds=first_byte_seconds,
        most_output_tokens=bill.max_output_tokens,
        is_awaited=lambda: call.ended_as is None,
        before_sending=bill.note_sending,
    )


def _is_count_due(answer: AnyAnswer, call: Call, bill: Bill, attempts: Sequence[Attempt]) -> bool:
    complete = answer.ending is Ending.COMPLETED
    return bill.is_count_due(_ending(answer, call, attempts), answer.meter, complete=complete, attempts=attempts)


def _ending(answer: AnyAnswer, call: Call, attempts: Sequence[Attempt]) -> Ending:
    return ending_of(
        outside=call.ended_as,
        provider=answer.ending,
        may_have_cost=bool(attempts) and attempts[-1].may_have_cost,
        has_use=bool(answer.meter.characters) and not answer.is_worthless_in_part,
    )


def _settle(answer: AnyAnswer, call: Call, bill: Bill, attempts: Sequence[Attempt], figures: CallFigures) -> int:
    """Settle the bill. Return the output that was charged, for the limits of tokens."""
    answer.note_untranslated()
    ending = _ending(answer, call, attempts)
    due = bill.charge(ending, answer.meter, complete=answer.ending is Ending.COMPLETED)
    settled = bill.settle(due, ending, attempts)
    call.request.note_settled(settled, attempts)
    figures.settled(call.request.path, settled)
    return due.usage.output_units
