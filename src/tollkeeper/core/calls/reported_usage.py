"""What a provider reports of a call's usage, and what of it has a price of its own.

Rules of this file
1. Most reports have plain input, output and cached input: those take no longer than they did without parts.
2. A share of the input is cached, written or media, and never two of these. Vendors count the media of a cached prompt
   both as media and as cached: what must have been counted twice is cached.
3. What is no number says nothing. What cannot be true (less than nothing, more than all) is handed on as it was told,
   so that the whole report is not believed (`core/money/charge`).

OpenAI names what was written to a cache `cache_write_tokens`, in `prompt_tokens_details`, and so does OpenRouter. How
long it lives is told as Anthropic tells it, in `cache_creation` beside that; uses of a vendor's tools likewise, in
`server_tool_use`, which OpenRouter and LiteLLM hand on under the same name.
"""

import re
from typing import Any, TypeGuard

import msgspec

from tollkeeper.core.money.parts import NO_PARTS, UsageParts
from tollkeeper.core.money.prices import Usage

# As they are told of a tool: `web_search_requests`.
TOOL_SUFFIX = "_requests"
TOOLS_MOST = 16
_TOOL = re.compile(r"[a-z][a-z0-9_]{0,39}")


class PromptDetails(msgspec.Struct):
    """Details of the input. What is `Any` may be of any form, without making the rest unreadable."""

    cached_tokens: int | None = None
    audio_tokens: Any = None
    image_tokens: Any = None
    cache_write_tokens: Any = None
    cache_creation: Any = None
    cached_tokens_details: Any = None

    @property
    def has_parts(self) -> bool:
        return bool(self.audio_tokens or self.image_tokens or self.cache_write_tokens or self.cache_creation)


class CompletionDetails(msgspec.Struct):
    """Details of the output. Thoughts are output like any other, and in it; but see `_thoughts_beside`."""

    reasoning_tokens: Any = None
    audio_tokens: Any = None
    image_tokens: Any = None


NO_DETAILS = PromptDetails()
NO_OUTPUT_DETAILS = CompletionDetails()


class PlainUsage(msgspec.Struct):
    """The token counts of a report whose other members have a form that we do not know."""

    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: PromptDetails | None = None


class ReportedUsage(PlainUsage):
    completion_tokens_details: CompletionDetails | None = None
    total_tokens: Any = None
    server_tool_use: Any = None


UNREADABLE = ReportedUsage(-1, -1)


def usage_in(usage: ReportedUsage | None) -> Usage | None:
    if usage is None or usage is UNREADABLE:
        return None
    of_input = usage.prompt_tokens_details or NO_DETAILS
    of_output = usage.completion_tokens_details or NO_OUTPUT_DETAILS
    parts = None
    if of_input.has_parts or of_output.audio_tokens or of_output.image_tokens or usage.server_tool_use:
        parts = _parts(usage, of_input, of_output)
    beside = _thoughts_beside(usage, of_output)
    return Usage(usage.prompt_tokens, usage.completion_tokens + beside, of_input.cached_tokens or 0, parts, beside)


def _thoughts_beside(usage: ReportedUsage, of_output: CompletionDetails) -> int:
    """Some vendors (xAI) tell thoughts beside the completion: then the total is right only with them added."""
    thought = _number(of_output.reasoning_tokens)
    is_beside = thought > 0 and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens + thought
    return thought if is_beside else 0


def _parts(usage: ReportedUsage, of_input: PromptDetails, of_output: CompletionDetails) -> UsageParts | None:
    written_5m, written_1h = written_in(of_input.cache_write_tokens, of_input.cache_creation)
    image, audio = _number(of_input.image_tokens), _number(of_input.audio_tokens)
    if image or audio:
        of_cache = (of_input.cached_tokens or 0) + written_5m + written_1h
        image, audio = _counted_once(usage.prompt_tokens, of_cache, image, audio, of_input.cached_tokens_details)
    parts = UsageParts(
        written_5m=written_5m,
        written_1h=written_1h,
        image_input=image,
        audio_input=audio,
        image_output=_number(of_output.image_tokens),
        audio_output=_number(of_output.audio_tokens),
        tools=uses_in(usage.server_tool_use),
    )
    return None if parts == NO_PARTS else parts


def written_in(total: object, by_life: object) -> tuple[int, int]:
    """What was written for five minutes, and for an hour. Without a word on its life it is the shorter one."""
    of_life = by_life if isinstance(by_life, dict) else {}
    for_minutes, for_an_hour = (_number(of_life.get(f"ephemeral_{life}_input_tokens")) for life in ("5m", "1h"))
    if _is_number(total):
        # The sum counts: it is what the input consists of.
        for_an_hour = min(for_an_hour, max(0, total))
        for_minutes = total - for_an_hour
    return for_minutes, for_an_hour


def uses_in(uses: object) -> dict[str, int]:
    """Uses by the tool's name. Only names that look like a tool's are kept: no report carries text into the books."""
    reported = list(uses.items())[:TOOLS_MOST] if isinstance(uses, dict) else []
    named = ((name.removesuffix(TOOL_SUFFIX), times) for name, times in reported if isinstance(name, str))
    return {name: times for name, times in named if _is_number(times) and times and _TOOL.fullmatch(name)}


def _counted_once(input_tokens: int, of_cache: int, image: int, audio: int, cached: object) -> tuple[int, int]:
    """Images and audio without what is cached of them: as the vendor says, and at least what is more than all."""
    of_cached = cached if isinstance(cached, dict) else {}
    if min(image, audio) < 0 or max(image + audio, of_cache) > input_tokens:
        return image, audio
    image -= min(image, max(0, _number(of_cached.get("image_tokens"))))
    audio -= min(audio, max(0, _number(of_cached.get("audio_tokens"))))
    twice = max(0, of_cache + image + audio - input_tokens)
    of_audio = min(audio, twice)
    return image - (twice - of_audio), audio - of_audio


def _number(value: object) -> int:
    return value if _is_number(value) else 0


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
