"""Meters: what can be known of a call's usage from the answer that passes by.

Rules of this file
1. What a provider reports is kept as reported. What it writes is counted as well, for the case that it does not report.
2. The content of a stream is counted and let go: a meter's size does not grow with it.
3. We do not own the vendor's schema: JSON of a form that we do not know passes, uncounted.
"""

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

import msgspec
from msgspec import Raw

from tollkeeper.core.chat import CHOICES_MOST
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

    @property
    def has_more_than_content(self) -> bool:
        thoughts = self.reasoning_content or self.reasoning or self.refusal
        return bool(thoughts or self.tool_calls or self.function_call)


class Choice(msgspec.Struct):
    index: int = 0
    delta: Words | None = None
    message: Words | None = None
    finish_reason: str | None = None


class CachedTokens(msgspec.Struct):
    cached_tokens: int | None = None


class ReportedUsage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: CachedTokens | None = None


class Answer(msgspec.Struct):
    """A whole answer, or one chunk of it."""

    choices: list[Choice] | None = None
    usage: ReportedUsage | None = None
    error: Any = None
    # Not of the protocol: what a translator tells us on the way of a vendor that reports early.
    usage_so_far: ReportedUsage | None = None


class StrangeChoice(msgspec.Struct):
    """Of one whose words have a form that we do not know: whether it ended."""

    index: int = 0
    finish_reason: str | None = None


class StrangeAnswer(msgspec.Struct):
    """One in which something has a form that we do not know."""

    choices: Raw = Raw(b"null")
    usage: Raw = Raw(b"null")
    error: Any = None


UNREADABLE = ReportedUsage(-1, -1)


class Event(Enum):
    """What an event of a stream is, for the one who relays it."""

    PASSES = auto()
    USAGE = auto()
    # Nothing that callers wait for: a report on the way, a vendor's remark before the first word.
    ASIDE = auto()
    DONE = auto()
    ERROR = auto()
    MALFORMED = auto()


decode_known = msgspec.json.Decoder(Answer).decode
decode_strange = msgspec.json.Decoder(StrangeAnswer).decode
decode_choices: Callable[[Raw], list[Choice] | None] = msgspec.json.Decoder(list[Choice] | None).decode
decode_strange_choices = msgspec.json.Decoder(list[StrangeChoice]).decode
decode_usage: Callable[[Raw], ReportedUsage | None] = msgspec.json.Decoder(ReportedUsage | None).decode
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class NotAnAnswer(ValueError):
    """A body that should be a whole answer, and is none."""


class Meter:
    """Watches one answer of so many choices: event by event, or whole."""

    __slots__ = ("_choices", "_counters", "_finished", "_said_done", "_unwatched", "characters", "reported", "so_far")

    def __init__(self, choices: int = 1) -> None:
        self._choices = choices
        self._said_done = False
        self._counters: dict[int, TokenCounter] = {}
        self._finished: set[int] = set()
        self._unwatched: list[Choice] = []
        self.reported: Usage | None = None
        # What was reported on the way, by a provider that does: its input is right, its output is not yet.
        self.so_far: Usage | None = None
        # Of output so far.
        self.characters = 0

    @property
    def output_tokens(self) -> int:
        while self._unwatched:
            self._watch(self._unwatched.pop())
        return sum(counter.total for counter in self._counters.values())

    @property
    def finished(self) -> bool:
        """Whether every choice has given its reason to end; once the provider says that it is done, all that began."""
        wanted = 1 if self._said_done else self._choices
        return len(self._finished) >= wanted and self._finished >= self._counters.keys()

    def read_event(self, data: bytes) -> Event:
        """Watch the next event of a streamed answer."""
        if data == b"[DONE]":
            self._said_done = True
            return Event.DONE
        try:
            answer = _decode(data)
        except NotAnAnswer:
            return Event.MALFORMED
        if answer.error is not None:
            return Event.ERROR
        for choice in answer.choices or ():
            self._watch(choice)
        if answer.usage is not None:
            self.reported = _usage_in(answer.usage) or self.reported
            return Event.PASSES if answer.choices else Event.USAGE
        if answer.choices or answer.choices is None:
            return Event.PASSES
        if answer.usage_so_far is not None:
            self.so_far = _usage_in(answer.usage_so_far)
        return Event.ASIDE

    def read_whole(self, body: bytes) -> None:
        """Watch an answer that came whole. Its words are counted only if somebody asks for their count."""
        answer = _decode(body)
        if answer.error is not None or answer.choices is None:
            raise NotAnAnswer
        self.reported = _usage_in(answer.usage)
        self._unwatched = answer.choices

    def _watch(self, choice: Choice) -> None:
        # Choices that nobody could have asked for are counted as one.
        index = choice.index if 0 <= choice.index < CHOICES_MOST else CHOICES_MOST
        counter = self._counters.get(index)
        if counter is None:
            counter = self._counters[index] = TokenCounter()
        if choice.finish_reason is not None:
            self._finished.add(index)
        words = choice.delta or choice.message
        if words is None:
            return
        text = words.content or ""
        if words.has_more_than_content:
            text += "".join(_unusual_texts(words))
        if text:
            counter.feed(text)
            self.characters += len(text)


def _usage_in(usage: ReportedUsage | None) -> Usage | None:
    if usage is None or usage is UNREADABLE:
        return None
    details = usage.prompt_tokens_details
    cached_tokens = (details.cached_tokens or 0) if details is not None else 0
    return Usage(usage.prompt_tokens, usage.completion_tokens, cached_tokens)


def _unusual_texts(words: Words) -> Iterator[str]:
    # Two names for the same thoughts: some providers send both.
    yield words.reasoning_content or words.reasoning or ""
    yield words.refusal or ""
    functions = [call.function for call in words.tool_calls or ()]
    for function in (*functions, words.function_call):
        if function is not None:
            yield (function.name or "") + (function.arguments or "")


def _decode(text: bytes) -> Answer:
    try:
        return decode_known(text)
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotAnAnswer from None
    try:
        strange = decode_strange(text)
    except NOT_READ:
        raise NotAnAnswer from None
    return Answer(_choices(strange.choices), _usage(strange.usage), strange.error)


def _choices(strange: Raw) -> list[Choice] | None:
    try:
        return decode_choices(strange)
    except NOT_READ:
        pass
    try:
        known = decode_strange_choices(strange)
    except NOT_READ:
        return [Choice()]
    return [Choice(index=choice.index, finish_reason=choice.finish_reason) for choice in known]


def _usage(strange: Raw) -> ReportedUsage | None:
    try:
        return decode_usage(strange)
    except NOT_READ:
        return UNREADABLE
