"""Counting what is asked, before it is held for: exactly where that is quick, and never for long."""

import asyncio
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from tollkeeper.core import tokens
from tollkeeper.core.catalog import Model
from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.quote import Ask

# Text up to this is counted at once: half a millisecond.
AT_ONCE_CHARACTERS = 12_000
SLICE_CHARACTERS = 16_384
# Enough for 16 MB of prose. What is left after it is made to be slow, and is estimated, on the high side.
SECONDS_MOST = 0.5
ESTIMATED_CHARACTERS_PER_TOKEN = 2


class InputCounter:
    """One long text at a time in each process, so that those who send such do not crowd out the rest."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "counting")

    async def count(self, order: ChatOrder, *, part_tokens: int) -> int:
        if order.characters <= AT_ONCE_CHARACTERS:
            return order.input_tokens(part_tokens=part_tokens)
        loop = asyncio.get_running_loop()
        counted = await loop.run_in_executor(self._thread, count_for_a_while, order.texts)
        return order.framing_tokens + order.media_parts * part_tokens + counted


async def read_ask(order: ChatOrder, model: Model, counter: InputCounter) -> Ask:
    """What of an order decides how much is held. Its texts are not needed after that."""
    input_tokens = await counter.count(order, part_tokens=model.limits.hold_part_tokens)
    order.texts = ()
    return Ask(input_tokens=input_tokens, max_output_tokens=order.max_output_tokens, n=order.n, thinks=order.thinks)


def count_for_a_while(texts: Iterable[str]) -> int:
    give_up_at = time.monotonic() + SECONDS_MOST
    total = 0
    for text in texts:
        counter = tokens.TokenCounter()
        for start in range(0, len(text), SLICE_CHARACTERS):
            if time.monotonic() > give_up_at:
                total += -(-(len(text) - start) // ESTIMATED_CHARACTERS_PER_TOKEN)
                break
            counter.feed(text[start : start + SLICE_CHARACTERS])
        total += counter.total
    return total
