"""Meters: what can be known of a call's usage from the answer that passes by.

Rules of this file
1. What a provider reports is kept as reported. What it writes is counted as well, for the case that it does not report.
2. Content is counted and let go: a meter's size does not grow with the answer.
3. We do not own the vendor's schema: JSON of a form that we do not know passes, uncounted.
"""

from collections.abc import Iterator
from enum import Enum, auto

import msgspec
from msgspec import Raw

from tollkeeper.core.prices import Usage
from tollkeeper.core.tokens import TokenCounter


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    function: Function | None = None


class Words(msgspec.Struct):
    """A message, or the next part of one: everything in it that a provider counts as output."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None


class Choice(msgspec.Struct):
    index: int = 0
    delta: Words | None = None
    message: Words | None = None
    finish_reason: str | None = None


class Envelope(msgspec.Struct):
    """What is around the choices of an answer, or of one chunk of it."""

    usage: Raw = Raw()
    error: Raw = Raw()


class Answer(Envelope):
    choices: list[Choice] | None = None


class StrangeAnswer(Envelope):
    """One with choices of a form that we do not know."""

    choices: Raw = Raw()


class CachedTokens(msgspec.Struct):
    cached_tokens: int | None = None


class ReportedUsage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: CachedTokens | None = None


class Event(Enum):
    """What an event of a stream is, for the one who relays it."""

    PASSES = auto()
    USAGE = auto()
    DONE = auto()
    ERROR = auto()
    MALFORMED = auto()


decode_known = msgspec.json.Decoder(Answer).decode
decode_strange = msgspec.json.Decoder(StrangeAnswer).decode
decode_usage = msgspec.json.Decoder(ReportedUsage).decode


class NotAnAnswer(ValueError):
    """A body that should be a whole answer, and is none."""


class Meter:
    """Watches one answer: event by event, or whole."""

    __slots__ = ("_counters", "_finished", "characters", "reported")

    def __init__(self) -> None:
        self._counters: dict[int, TokenCounter] = {}
        self._finished: set[int] = set()
        self.reported: Usage | None = None
        # Of output so far.
        self.characters = 0

    @property
    def output_tokens(self) -> int:
        return sum(counter.total for counter in self._counters.values())

    @property
    def finished(self) -> bool:
        """Whether every choice that began has given its reason to end."""
        return bool(self._finished) and self._finished >= self._counters.keys()

    def read_event(self, data: bytes) -> Event:
        """Watch the next event of a streamed answer."""
        if data == b"[DONE]":
            return Event.DONE
        try:
            answer = _decode(data)
        except NotAnAnswer:
            return Event.MALFORMED
        if _is_there(answer.error):
            return Event.ERROR
        for choice in answer.choices or ():
            self._watch(choice)
        if not _is_there(answer.usage):
            return Event.PASSES
        self.reported = _usage(answer.usage) or self.reported
        return Event.PASSES if answer.choices else Event.USAGE

    def read_whole(self, body: bytes) -> None:
        """Watch an answer that came whole. Its words are counted only where it reports no usage."""
        answer = _decode(body)
        if _is_there(answer.error) or answer.choices is None:
            raise NotAnAnswer
        self.reported = _usage(answer.usage)
        if self.reported is None:
            for choice in answer.choices:
                self._watch(choice)

    def _watch(self, choice: Choice) -> None:
        counter = self._counters.get(choice.index)
        if counter is None:
            counter = self._counters[choice.index] = TokenCounter()
        if choice.finish_reason is not None:
            self._finished.add(choice.index)
        for text in _texts(choice.delta or choice.message):
            counter.feed(text)
            self.characters += len(text)


def _texts(words: Words | None) -> Iterator[str]:
    if words is None:
        return
    functions = [call.function for call in words.tool_calls or ()]
    for function in (*functions, words.function_call):
        if function is not None:
            yield (function.name or "") + (function.arguments or "")
    for text in (words.content, words.reasoning_content, words.reasoning, words.refusal):
        if text:
            yield text


def _decode(text: bytes) -> Answer:
    try:
        return decode_known(text)
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotAnAnswer from None
    try:
        strange = decode_strange(text)
    except msgspec.MsgspecError:
        raise NotAnAnswer from None
    return Answer(strange.usage, strange.error, [Choice()] if _is_there(strange.choices) else None)


def _is_there(value: Raw) -> bool:
    return bytes(value) not in {b"", b"null"}


def _usage(reported: Raw) -> Usage | None:
    """None where nothing is reported that could be understood."""
    try:
        usage = decode_usage(reported)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    details = usage.prompt_tokens_details
    return Usage(usage.prompt_tokens, usage.completion_tokens, (details.cached_tokens or 0) if details else 0)
