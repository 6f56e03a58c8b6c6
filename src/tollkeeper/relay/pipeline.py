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
from tollkeeper.core.catalog import Kind
from tollkeeper.core.charge import Ending
from tollkeeper.core.chat import read_chat
from tollkeeper.ports import Catalog, Clock, Keys, Ledger
from tollkeeper.relay.admit import admit
from tollkeeper.relay.answer import Answer, StreamedAnswer, WholeAnswer
from tollkeeper.relay.bill import open_bill
from tollkeeper.relay.call import Call, Running
from tollkeeper.relay.dispatch import Attempt, Dispatcher


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    cut_seconds: float
    longest_seconds: int
    first_byte_seconds: float

    def of(self, call: Call, *, streamed: bool) -> float | None:
        """How long a call may last: on the main address streams may last as long as they speak."""
        return None if streamed and call.address is not Address.BACKUP else self.longest_seconds

    def first_byte(self, *, streamed: bool) -> float:
        """A whole answer begins when it is complete."""
        return self.first_byte_seconds if streamed else self.longest_seconds


class Relay(msgspec.Struct, frozen=True, kw_only=True):
    """The collaborators of a call. Built once, in `tollkeeper.app`."""

    keys: Keys
    catalog: Catalog
    clock: Clock
    # The ledger of this moment's life: one that is taken for dead is followed by another.
    ledger: Callable[[], Ledger]
    dispatcher: Dispatcher
    running: Running
    limits: TimeLimits


@asynccontextmanager
async def serve(call: Call, relay: Relay) -> AsyncIterator[Answer]:
    """Yield the answer to `call`; settle its bill when the block is left."""
    limits = relay.limits
    caller = await admit(call.authorization, relay.keys, relay.clock)  # 401 403
    call.admitted(caller)
    order = read_chat(await call.read_body())  # 400 413
    offer = (await relay.catalog.shelf()).find(order.model, Kind.CHAT, caller, relay.clock.now())  # 404
    bill = await open_bill(
        call, caller, order, offer, relay.ledger(), longest_seconds=limits.longest_seconds
    )  # 403 503
    attempts: list[Attempt] = []
    dispatch = partial(
        relay.dispatcher.send,
        order,
        call.request_id,
        attempts,
        first_byte_seconds=limits.first_byte(streamed=order.stream),
    )  # 400 503
    answer = (StreamedAnswer if order.stream else WholeAnswer)(call, order, bill, dispatch)
    try:
        with relay.running.counted(call), call.endable(after_seconds=limits.of(call, streamed=order.stream)):
            yield answer
    finally:
        ending = _ending(answer, call, attempts)
        bill.settle(bill.charge(ending, answer.meter), ending, [attempt.told(ending) for attempt in attempts])
        await answer.close()


def _ending(answer: Answer, call: Call, attempts: Sequence[Attempt]) -> Ending:
    """What was refused, or never sent, is refused, whoever was still there to hear it. Otherwise who ended the call
    first: somebody outside, or the provider, well or badly. A caller who is told of a failure before the first word
    pays nothing; one who had left by then pays for the input, for nobody knows what the provider did with it."""
    if answer.ending is Ending.REFUSED or not any(attempt.sent for attempt in attempts):
        return Ending.REFUSED
    return call.ended_as or answer.ending or (Ending.UPSTREAM_BROKE if answer.meter.characters else Ending.REFUSED)
