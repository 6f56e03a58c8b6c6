"""Reading an answer, or a chunk of one, so that no text in it stays unseen.

Rules of this file
1. What the protocol knows is read into structs that forbid everything else (`answer_forms`): that is quick, and
   notices what is new.
2. Of anything else every string counts as output, unless its name says that it is none (`answer_texts`).
3. Of a member that stands twice in an object, the last is read. What the others say counts as well (`said_twice`),
   but in chunks that are known: they are too many to be looked through.
4. JSON that only a strict reader objects to (half a surrogate pair, text that is not UTF-8, NaN) is an answer all the
   same: the provider has made it, and asking another would make it twice.
"""

import json
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.answer_forms import (
    NULL,
    QUIET_CHARACTERS_MOST,
    FinishReason,
    NotAnAnswer,
    ReceivedAnswer,
    ReceivedChoice,
    Words,
)
from tollkeeper.core.calls.answer_texts import NOT_READ, label_in, text_in, words_in
from tollkeeper.core.calls.reported_usage import UNREADABLE, PlainUsage, ReportedUsage
from tollkeeper.core.calls.said_twice import text_said_twice

# So much is read once more by a lenient reader, which is slow.
LENIENT_BYTES_MOST = 2 * 1024 * 1024
LABEL = ("id", "model", "system_fingerprint", "object", "service_tier", "provider")
# Written in JSON, a control character has six: nothing may grow by being read.
CONTROLS_AS_SPACES = bytes.maketrans(bytes(range(0x20)), b" " * 0x20)
READ_APART = frozenset({"choices", "usage", "usage_so_far", "error", *LABEL})


class RemarkedAnswer(ReceivedAnswer, forbid_unknown_fields=False):
    """One that may have more members than the protocol knows."""


class StrangeAnswer(msgspec.Struct):
    """One in which something has a form that we do not know."""

    choices: Raw = Raw(b"null")
    usage: Raw = Raw(b"null")
    error: Any = None


class PlainWords(msgspec.Struct):
    """The words that we know, of a message with something beside them that we do not."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        # Two names for the same thoughts, or two thoughts.
        other = None if self.reasoning == self.reasoning_content else self.reasoning
        return tuple(filter(None, (self.content, self.reasoning_content, other, self.refusal)))


class StrangeChoice(msgspec.Struct):
    """A choice in which something has a form that we do not know: whether it ended."""

    index: int = 0
    finish_reason: str | None = None

    @property
    def ended(self) -> FinishReason | None:
        return "stop" if self.finish_reason else None


class PlainChoice(StrangeChoice):
    """The same, where its words are known."""

    delta: PlainWords | None = None
    message: PlainWords | None = None
    logprobs: dict[str, Raw] | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(text for words in (self.delta, self.message) if words is not None for text in words.texts)


decode_known = msgspec.json.Decoder(ReceivedAnswer).decode
decode_remarked = msgspec.json.Decoder(RemarkedAnswer).decode
KNOWN_MEMBERS = frozenset(ReceivedAnswer.__struct_fields__)
decode_strange = msgspec.json.Decoder(StrangeAnswer).decode
decode_choices: Callable[[Raw], list[Raw] | None] = msgspec.json.Decoder(list[Raw] | None).decode
decode_choice = msgspec.json.Decoder(ReceivedChoice).decode
decode_plain_choice = msgspec.json.Decoder(PlainChoice).decode
decode_strange_choice = msgspec.json.Decoder(StrangeChoice).decode
decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
decode_usage: Callable[[Raw], ReportedUsage | None] = msgspec.json.Decoder(ReportedUsage | None).decode
decode_plain_usage = msgspec.json.Decoder(PlainUsage).decode


def _no_longer(text: str) -> float | str:
    """The number, or its text where writing it again would take more characters: `1e9`."""
    value = float(text)
    return value if len(repr(value)) <= len(text) else text


# Made once: there may be thousands of events that want it.
decode_leniently = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_no_longer, strict=False).decode


def read_chunk(text: bytes) -> ReceivedAnswer:
    """Read a chunk. Raise NotAnAnswer."""
    try:
        return decode_known(text)
    except NOT_READ:
        pass
    answer = _read_unknown(text)
    if twice := text_said_twice(text):
        # Where a part is counted as it was written, what it says twice is in it already.
        answer.strange_text += twice[: max(0, len(text) - _characters(answer))]
    return answer


def _characters(answer: ReceivedAnswer) -> int:
    """How many are counted of it."""
    choices = answer.choices or ()
    words = [words for choice in choices for words in (choice.delta, choice.message) if words is not None]
    strange = [answer.strange_text, *(choice.strange_text for choice in choices)]
    return sum(map(len, strange)) + sum(len(each.text) for each in words)


def read_answer(text: bytes) -> ReceivedAnswer:
    """Read a whole answer. Raise NotAnAnswer."""
    try:
        return decode_known(text)
    except NOT_READ:
        return _read_unknown(text)


def _read_unknown(text: bytes) -> ReceivedAnswer:
    """Read what has more in it than the protocol knows. Raise NotAnAnswer."""
    try:
        return _read_with_remarks(text)
    except NOT_READ:
        pass
    try:
        return _read_strange(text)
    except (msgspec.ValidationError, RecursionError):
        raise NotAnAnswer from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return _read_strange(strictly_written(text.translate(CONTROLS_AS_SPACES)))
    except NOT_READ:
        raise NotAnAnswer from None


def _read_with_remarks(text: bytes) -> ReceivedAnswer:
    """One whose choices are known, with something beside them that is not: many vendors put a remark there."""
    answer = decode_remarked(text)
    remarks = [(name, value) for name, value in decode_members(text).items() if name not in KNOWN_MEMBERS]
    answer.strange_text = "".join(text_in(value, name) for name, value in remarks)
    return answer


def _read_strange(text: bytes) -> ReceivedAnswer:
    strange, members = decode_strange(text), decode_members(text)
    usage = read_usage(strange.usage)
    beside = "".join(text_in(value, name) for name, value in members.items() if name not in READ_APART)
    if usage is UNREADABLE:
        # What stands in place of a report is what it says.
        beside += words_in(strange.usage)
    answer = ReceivedAnswer(
        choices=_choices(strange.choices),
        usage=usage,
        error=strange.error,
        usage_so_far=members.get("usage_so_far", NULL),
        strange_text=beside,
    )
    for name in (name for name in LABEL if name in members):
        label = label_in(members[name]) or ""
        if len(label) <= QUIET_CHARACTERS_MOST:
            setattr(answer, name, label or None)
        else:
            answer.strange_text += label
    return answer


def strictly_written(text: bytes) -> bytes:
    """The same JSON for a strict reader, with a mark in place of what is no text and null in place of what is no
    number. Raise NotAnAnswer."""
    if len(text) > LENIENT_BYTES_MOST:
        raise NotAnAnswer
    try:
        value = decode_leniently(text.decode("utf-8-sig", "replace"))
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        raise NotAnAnswer from None


def _choices(strange: Raw) -> list[ReceivedChoice] | None:
    try:
        each = decode_choices(strange)
    except NOT_READ:
        return [ReceivedChoice(strange_text=text_in(strange))]
    return None if each is None else [_choice(choice) for choice in each]


def _choice(strange: Raw) -> ReceivedChoice:
    try:
        return decode_choice(strange)
    except NOT_READ:
        pass
    try:
        plain = decode_plain_choice(strange)
    except NOT_READ:
        return _stranger_choice(strange)
    words = Words(content="".join(plain.texts))
    # Beside words, logprobs say them again.
    silent, logprobs = (frozenset({"logprobs"}), plain.logprobs) if plain.texts else (frozenset[str](), None)
    strange_text = text_in(strange, besides=plain.texts, silent=silent)
    return ReceivedChoice(
        index=plain.index, finish_reason=plain.ended, delta=words, logprobs=logprobs, strange_text=strange_text
    )


def _stranger_choice(strange: Raw) -> ReceivedChoice:
    text = text_in(strange)
    try:
        known = decode_strange_choice(strange)
    except NOT_READ:
        return ReceivedChoice(strange_text=text)
    return ReceivedChoice(index=known.index, finish_reason=known.ended, strange_text=text)


def read_usage(strange: Raw) -> ReportedUsage | None:
    try:
        return decode_usage(strange)
    except NOT_READ:
        pass
    try:
        plain = decode_plain_usage(strange)
    except NOT_READ:
        return UNREADABLE
    return ReportedUsage(plain.prompt_tokens, plain.completion_tokens, plain.prompt_tokens_details)
