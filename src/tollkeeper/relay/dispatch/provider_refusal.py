"""A provider's refusal: read as far as it comes soon, and put into words for the caller."""

import asyncio
import math

from tollkeeper.core.errors import ProviderRejected
from tollkeeper.core.pool.provider_status import ShownAs
from tollkeeper.ports import UpstreamAnswer, UpstreamFailed

TOO_LARGE = "This request is larger than the model's provider takes at once. Shorten it, or allow less output."
REJECTION_BYTES_MOST = 64 * 1024
REJECTION_SECONDS = 5.0


def rejected(shown_as: ShownAs) -> ProviderRejected:
    if shown_as is ShownAs.TOO_LARGE:
        return ProviderRejected(TOO_LARGE, code="request_too_large")
    return ProviderRejected()


async def words_of(answer: UpstreamAnswer) -> bytes:
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
