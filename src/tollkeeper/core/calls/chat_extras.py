"""What a chat order asks for beside text: each may have a price of its own.

Rules of this file
1. What a vendor charges for beside plain input and output passes only where the model's price says what it costs: a
   cache that lives for an hour, spoken answers, pictures in answers, tools that the provider runs.
2. A cache for the vendor's usual time is for the price to include: without a price of its own it costs what input does.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat_form import CheckedCacheControl, CheckedPart, CheckedTool, PromptCache, Word
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.prices import Price

Modality = Literal["text", "audio", "image"]
LONGER_LIFE = "1h"
WEB_SEARCH = "web_search"
# Parameters by which a vendor is told to cache, or what belongs together.
CACHING = frozenset({"cache_control", "prompt_cache_key", "prompt_cache_options"})
PLAIN: frozenset[Part] = frozenset()
WRITES = frozenset({Part.WRITTEN_5M})
# What to do where there is no price for it.
UNPRICED = {
    Part.WRITTEN_1H: "a cache that lives for an hour has no price at this model; leave ttl out, or send 5m",
    Part.AUDIO_OUTPUT: "spoken answers have no price at this model; leave it out, or use /v1/audio/speech",
    Part.IMAGE_OUTPUT: "pictures in answers have no price at this model; leave it out, or use /v1/images/generations",
}
UNPRICED_TOOL = "the provider's tool {} has no price here for this model; leave it out"


class SpokenAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """How an answer is to sound. A voice of the operator's own is not to be had."""

    voice: Word | None = None
    format: Word | None = None


class WhereAbouts(msgspec.Struct, forbid_unknown_fields=True):
    city: Word | None = None
    country: Word | None = None
    region: Word | None = None
    timezone: Word | None = None


class UserLocation(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["approximate"] = "approximate"
    approximate: WhereAbouts | None = None


class SearchOptions(msgspec.Struct, forbid_unknown_fields=True):
    """One search of the web before the answer."""

    search_context_size: Literal["low", "medium", "high"] | None = None
    user_location: UserLocation | None = None


class Extra(msgspec.Struct, frozen=True):
    """Something that must have a price: a part, or by its name a tool that the provider runs."""

    place: str
    what: Part | str
    # How often such a tool is used in any case.
    uses: int = 0

    def has_price(self, price: Price) -> bool:
        if price.parts is None:
            return False
        if isinstance(self.what, Part):
            return getattr(price.parts, self.what) is not None
        return self.what in price.parts.tools


class MarkedMessage(Protocol):
    """What of a message says that it is to be cached."""

    content: str | list[CheckedPart] | None
    cache_control: CheckedCacheControl | None


Mark = CheckedCacheControl | PromptCache


def marks_in(messages: Sequence[MarkedMessage], tools: Sequence[CheckedTool]) -> Iterator[tuple[str, Mark]]:
    """Marks for a vendor's cache, with their places."""
    for index, message in enumerate(messages):
        if message.cache_control is not None:
            yield f"messages[{index}].cache_control", message.cache_control
        if isinstance(message.content, list):
            for at, part in enumerate(message.content):
                if (mark := part.cache_control or part.prompt_cache_breakpoint) is not None:
                    yield f"messages[{index}].content[{at}].cache_control", mark
    for at, tool in enumerate(tools):
        mark = tool.cache_control or (tool.function.cache_control if tool.function is not None else None)
        if mark is not None:
            yield f"tools[{at}].cache_control", mark


def extras_of(
    marks: Sequence[tuple[str, Mark]], modalities: Sequence[Modality], *, speaks: bool, searches: bool
) -> tuple[Extra, ...]:
    """What of an order must have a price. `speaks`, `searches`: whether it says how to sound, and what to look for."""
    found = [Extra(f"{place}.ttl", Part.WRITTEN_1H) for place, mark in marks if mark.ttl == LONGER_LIFE]
    if "audio" in modalities or speaks:
        found.append(Extra("modalities" if "audio" in modalities else "audio", Part.AUDIO_OUTPUT))
    if "image" in modalities:
        found.append(Extra("modalities", Part.IMAGE_OUTPUT))
    if searches:
        found.append(Extra("web_search_options", WEB_SEARCH, uses=1))
    return tuple(found)


def parts_of(fields: Mapping[str, Raw], *, is_marked: bool, extras: Sequence[Extra]) -> frozenset[Part]:
    """What may come beside plain input and output."""
    may_write = is_marked or not CACHING.isdisjoint(fields)
    if not extras:
        return WRITES if may_write else PLAIN
    parts = frozenset(extra.what for extra in extras if isinstance(extra.what, Part))
    return parts | WRITES if may_write else parts


def check_priced(extras: Sequence[Extra], price: Price) -> None:
    """Raise UnsupportedParameter where something is asked for that has no price."""
    for extra in extras:
        if not extra.has_price(price):
            raise refusal_of(extra)


def refusal_of(extra: Extra) -> UnsupportedParameter:
    """What to say where it has no price."""
    why = UNPRICED[extra.what] if isinstance(extra.what, Part) else UNPRICED_TOOL.format(extra.what)
    return UnsupportedParameter(extra.place, why)
