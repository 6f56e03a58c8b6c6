"""A provider's count of an order's input."""

import msgspec

from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import UpstreamAnswer, Vendor
from tollkeeper.ports.providers.pool import Seat
from tollkeeper.relay.dispatch.attempt import setback_of
from tollkeeper.relay.dispatch.provider_refusal import words_of

OK = 200
# More than any model can read: such a number is no count.
TOKENS_MOST = 10**9


class _CountedInput(msgspec.Struct):
    input_tokens: int


decode_counted = msgspec.json.Decoder(_CountedInput).decode


async def count_at(answer: UpstreamAnswer, seat: Seat, vendor: Vendor) -> int | None:
    """What it says; None where that is no count. A key that is refused here is refused everywhere."""
    try:
        body = await words_of(answer)
    finally:
        await answer.close()
    if answer.status != OK:
        setback = setback_of(answer, body, vendor)
        if setback.trouble is Trouble.CREDENTIAL:
            seat.fail(setback.trouble, setback.because)
        return None
    try:
        counted = decode_counted(body).input_tokens
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return counted if 0 <= counted <= TOKENS_MOST else None
