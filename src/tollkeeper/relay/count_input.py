"""Counting what is asked: exactly where that is quick, and never for long.

Rules of this file
1. Conversations are sent again and again, a little longer each time. What an account has sent before is not counted
   again: of a long text its digest and its count are remembered, never the text.
2. No account learns from the time it takes what others have sent: digests are of an account and a text together, under
   a secret that this process alone has.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b

from tollkeeper.core.calls import tokens
from tollkeeper.core.calls.chat import WHOLE_BYTES_MOST, ChatOrder
from tollkeeper.core.calls.native import Dialect
from tollkeeper.core.catalog.models import Model
from tollkeeper.core.errors import AnswerWouldBeTooLarge, BadRequest, ContextLengthExceeded, PromptTooLong
from tollkeeper.core.money.quote import Ask, TokenCaps

# Text up to this is counted at once: half a millisecond.
AT_ONCE_CHARACTERS = 12_000
SLICE_CHARACTERS = 16_384
# Enough for 16 MB of prose. What is left after it is made to be slow, and is estimated, on the high side.
SECONDS_MOST = 0.5
ESTIMATED_CHARACTERS_PER_TOKEN = 2
# Shorter texts are counted as quickly as they are found; to look for longer ones would keep everybody else waiting.
# About 150 bytes are kept for each of the others.
REMEMBERED_CHARACTERS = range(1_000, 256_000)
REMEMBERED_MOST = 20_000
# So many of the longest are digested in 10 ms.
TEXTS_AT_ONCE = 40
# Vendors count otherwise than we do: so much beyond a model's context is for the provider to judge.
SLACK_PART = 8


class InputCounter:
    """One long text at a time in each process, so that those who send such do not crowd out the rest."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "counting")
        self._secret = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, int] = OrderedDict()

    async def count(self, order: ChatOrder, *, owner: int, part_tokens: int) -> int:
        """`owner`: the account that sends it."""
        if order.characters < REMEMBERED_CHARACTERS.start:
            return order.input_tokens(part_tokens=part_tokens)
        counts = await self.count_each(order.texts, owner=owner)
        return order.framing_tokens + order.media_parts * part_tokens + sum(counts)

    async def count_each(self, texts: Sequence[str], *, owner: int, seconds_most: float | None = None) -> list[int]:
        """The tokens of each text."""
        counts, new_texts, places = [0] * len(texts), [], []
        for number, text in enumerate(texts, 1):
            if number % TEXTS_AT_ONCE == 0:
                # To look for many takes a while, too.
                await asyncio.sleep(0)
            place = self._place(owner, text) if len(text) in REMEMBERED_CHARACTERS else None
            if place is not None and place in self._known:
                counts[number - 1] = self._known[place]
                self._known.move_to_end(place)
            else:
                new_texts.append((number - 1, text))
                places.append(place)
        found, exact = await self._count_new([text for _, text in new_texts], seconds_most)
        if exact:
            self._remember(places, found)
        for (index, _), counted in zip(new_texts, found, strict=True):
            counts[index] = counted
        return counts

    async def _count_new(self, texts: Sequence[str], seconds_most: float | None) -> tuple[list[int], bool]:
        """The count of each, and whether they are exact."""
        if sum(map(len, texts)) <= AT_ONCE_CHARACTERS:
            return [tokens.count(text) for text in texts], True
        count = partial(count_for_a_while, texts, seconds_most)
        return await asyncio.get_running_loop().run_in_executor(self._thread, count)

    def _place(self, owner: int, text: str) -> bytes:
        # Half a surrogate pair is no text, and has a count all the same.
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._secret)
        digest.update(owner.to_bytes(8))
        return digest.digest()

    def _remember(self, places: Sequence[bytes | None], counts: Sequence[int]) -> None:
        for place, counted in zip(places, counts, strict=True):
            if place is not None:
                self._known[place] = counted
        while len(self._known) > REMEMBERED_MOST:
            self._known.popitem(last=False)


async def read_ask(order: ChatOrder, model: Model, counter: InputCounter, *, owner: int) -> Ask:
    """What of an order decides how much is held. Its texts are not needed after that. Raise ContextLengthExceeded,
    PromptTooLong."""
    caps = model.token_caps
    input_tokens = await counter.count(order, owner=owner, part_tokens=caps.hold_part_tokens)
    order.texts = ()
    text_tokens = input_tokens - order.media_parts * caps.hold_part_tokens
    if text_tokens > caps.context_tokens + caps.context_tokens // SLACK_PART:
        raise _too_long(order, caps.context_tokens, text_tokens)
    return ask_of(order, caps, input_tokens)


def check_answer_size(order: ChatOrder, model: Model) -> None:
    """Raise AnswerWouldBeTooLarge."""
    if not order.stream and order.answer_bytes_most(model.token_caps.max_output_tokens) > WHOLE_BYTES_MOST:
        raise AnswerWouldBeTooLarge


def ask_of(order: ChatOrder, caps: TokenCaps, input_tokens: int, *, uncounted_bytes: int = 0) -> Ask:
    counted_tokens = order.media_parts * caps.hold_part_tokens
    untranslated_tokens = order.native.untranslated_tokens if order.native else 0
    beside_tokens = order.media_tokens + untranslated_tokens
    media_tokens = max(0, min(beside_tokens, caps.context_tokens) - counted_tokens)
    return Ask(
        input_units=input_tokens,
        uncounted_bytes=uncounted_bytes,
        max_output_tokens=order.max_output_tokens,
        n=order.n,
        thinks=order.thinks,
        media_tokens=media_tokens,
        untranslated_tokens=max(0, min(untranslated_tokens, media_tokens, caps.context_tokens - input_tokens)),
        has_media=order.media_parts > 0,
        parts=order.parts,
        tools=order.vendor_tools,
        may_use=order.provider_tools,
    )


def _too_long(order: ChatOrder, context_tokens: int, sent_tokens: int) -> BadRequest:
    """In the words of the caller's dialect: programs look for them."""
    dialect = None if order.native is None else order.native.dialect
    if dialect is Dialect.MESSAGES:
        return PromptTooLong(context_tokens, sent_tokens)
    param = "input" if dialect is Dialect.RESPONSES else "messages"
    return ContextLengthExceeded(context_tokens, sent_tokens, param=param)


def count_for_a_while(texts: Sequence[str], seconds_most: float | None = None) -> tuple[list[int], bool]:
    """The count of each, and whether there was time for all of them."""
    give_up_at = time.monotonic() + (SECONDS_MOST if seconds_most is None else seconds_most)
    counts, exact = [], True
    for text in texts:
        counter, estimated = tokens.TokenCounter(), 0
        for start in range(0, len(text), SLICE_CHARACTERS):
            if time.monotonic() > give_up_at:
                estimated, exact = -(-(len(text) - start) // ESTIMATED_CHARACTERS_PER_TOKEN), False
                break
            counter.feed(text[start : start + SLICE_CHARACTERS])
        counts.append(counter.total + estimated)
    return counts, exact
