"""One call, from credentials to settled bill.

Read this file first. Every stage is one line in `serve` and one module beside this one; each either returns a value for
the next or raises a refusal, which the edge turns into the response. The statuses that a stage can raise stand at the
end of its line.

The answer is yielded, not returned: a streamed body outlives the function that opened it, and the bill can only be
settled after its last piece. Whatever happens inside the caller's `async with` block (the answer ends, the provider
breaks off, the client hangs up, time runs out, the node stops), control comes back here exactly once, and the hold is
closed exactly once.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from tollkeeper.core.addresses import Address
from tollkeeper.core.charge import Ending
from tollkeeper.ports import Catalog, Clock, Keys, Ledger
from tollkeeper.relay.admit import admit
from tollkeeper.relay.answer import AnyAnswer
from tollkeeper.relay.aside import Aside
from tollkeeper.relay.attempt import Attempt
from tollkeeper.relay.bill import Bill
from tollkeeper.relay.call import Call, Running
from tollkeeper.relay.dispatch import Dispatcher, Journey
from tollkeeper.relay.gate import Gate
from tollkeeper.relay.operations import Measures, Operation
from tollkeeper.relay.time_limits import ATTEMPTS_MOST, TimeLimits

# Endings after which nobody hears the provider, and what it has sent is still to be known.
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
    limits: TimeLimits
    aside: Aside


@asynccontextmanager
async def serve(call: Call, operation: Operation, relay: Relay) -> AsyncIterator[AnyAnswer]:
    """Yield the answer to `call`; settle its bill when the block is left."""
    limits = relay.limits
    caller = await admit(call.authorization, call.client, relay.keys, relay.clock)  # 401 403
    call.admitted(caller)
    rates = (await relay.catalog.shelf()).rates_of(caller)
    relay.gate.refuse_early(call, caller, rates, operation.kind)  # 429
    order = await relay.aside.read(operation.read, await call.read_body())  # 400 403 413
    # The body may have taken a minute: the price is that of the book as it is now.
    shelf = await relay.catalog.shelf()
    offer = shelf.find(order, operation.kind, caller, relay.clock.now())  # 400 404
    ask = await operation.ask(order, offer.model, caller, relay.measures)  # 400 503
    tokens = 0 if ask.measured else ask.input_tokens
    call.passage = await relay.gate.enter(call, caller, rates, operation.kind, offer.model.id, tokens=tokens)  # 429
    bill = Bill(call, caller, ask, offer, relay.ledger(), hold_seconds=limits.hold_seconds)
    call.is_streamed = order.stream
    journey = Journey(
        request_id=call.request_id,
        customer=caller.account_id,
        tokens=tokens,
        most_attempts=1 if call.address is Address.BACKUP else ATTEMPTS_MOST,
        first_byte_seconds=limits.first_byte(streamed=order.stream),
        most_output_tokens=offer.model.limits.max_output_tokens,
        is_awaited=lambda: call.ended_as is None,
    )
    dispatch = partial(relay.dispatcher.deliver, order, journey)
    answer = operation.answer(order)(call, order, bill, dispatch, limits.longest_seconds)
    await bill.hold()  # 403 503
    # Nothing stands between the hold and this line: whatever fails from here on, the hold is closed.
    try:
        async with call.endable(after_seconds=limits.of(call, streamed=order.stream), among=relay.running):
            yield answer  # 400 503
    finally:
        order.forget_content()
        try:
            if call.ended_as in WITHOUT_CALLER and not relay.running.is_over:
                await answer.read_unread()
        finally:
            try:
                _settle(answer, call, bill, journey)
            finally:
                # A process that stops waits for the calls that it knows of.
                relay.running.discard(call)
                await answer.close()


def _settle(answer: AnyAnswer, call: Call, bill: Bill, journey: Journey) -> None:
    answer.note_unheard()
    ending = _ending(answer, call, journey.attempts)
    due = bill.charge(ending, answer.meter, complete=answer.ending is Ending.COMPLETED)
    bill.settle(due, ending, journey.attempts)
    call.output_tokens = due.usage.output_tokens


def _ending(answer: AnyAnswer, call: Call, attempts: Sequence[Attempt]) -> Ending:
    """What was refused, or never sent, is refused, whoever was still there to hear it. Otherwise who ended the call
    first: somebody outside, or the provider, well or badly. A caller who is told of a failure before the first word
    pays nothing, nor does one who has half a file of which nothing can be used; one who had left by then pays for the
    input, for nobody knows what the provider did with it."""
    if answer.ending is Ending.REFUSED or not attempts or not attempts[-1].may_have_cost:
        return Ending.REFUSED
    ending = call.ended_as or answer.ending or Ending.UPSTREAM_BROKE
    nothing_to_keep = not answer.meter.characters or answer.is_worthless_in_part
    told_in_time = ending in {Ending.UPSTREAM_BROKE, Ending.NODE_STOPPED} and nothing_to_keep
    return Ending.REFUSED if told_in_time else ending
