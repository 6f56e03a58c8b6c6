"""Reading an answer, or a chunk of one, so that no text in it stays unseen.

Rules of this file
1. What the protocol knows is read into structs that forbid everything else (`core/answer_forms`): that is quick, and
   notices what is new.
2. Of anything else every string counts as output, unless its name says that it is none: we do not own the vendor's
   schema, and a text that has passed uncounted would have been free.
3. JSON that only a strict reader objects to (half a surrogate pair, text that is not UTF-8, NaN) is an answer all the
   same: the provider has made it, and asking another would make it twice.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import msgspec
from msgspec import Raw

from tollkeeper.core.answer_forms import (
    NULL,
    Answer,
    Choice,
    FinishReason,
    Label,
    NotAnAnswer,
    ReportedUsage,
    Role,
    Words,
)
from tollkeeper.core.prices import Usage

# Reading more than this string by string would keep other calls waiting: its bytes are taken for its text.
STRINGS_BYTES_MOST = 256 * 1024
# So much is read once more by a lenient reader, which is slow.
LENIENT_BYTES_MOST = 2 * 1024 * 1024
# Names of what is no output, as long as it is no longer than this.
NO_OUTPUT = frozenset(
    {
        *("id", "index", "type", "created", "format", "matched_stop", "obfuscation", "status"),
        *("content_filter_results", "prompt_filter_results", "x_groq"),
    }
)
# Words of the protocol itself, and of vendors': the mark on a part that is a thought, and how code that was run ended.
VENDORS_WORDS = ("thought", "PYTHON", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
KNOWN_WORDS = frozenset(map(str, (*get_args(Role), *get_args(FinishReason), *VENDORS_WORDS)))
NO_OUTPUT_CHARACTERS_MOST = 128
LABEL = ("id", "model", "system_fingerprint", "object", "service_tier", "provider")
NOTHING = Raw()
READ_APART = frozenset({"choices", "usage", "usage_so_far", "error", "created", *LABEL})


class RemarkedAnswer(Answer, forbid_unknown_fields=False):
    """One that may have more members than the protocol knows."""


class StrangeAnswer(msgspec.Struct):
    """One in which something has a form that we do not know."""

    choices: Raw = Raw(b"null")
    usage: Raw = Raw(b"null")
    error: Any = None


class PlainWords(msgspec.Struct):
    """Of words with something beside them that we do not know: those that we do."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.content, self.reasoning_content or self.reasoning, self.refusal)))


class StrangeChoice(msgspec.Struct):
    """Of one in which something has a form that we do not know: whether it ended."""

    index: int = 0
    finish_reason: str | None = None

    @property
    def ended(self) -> FinishReason | None:
        return "stop" if self.finish_reason else None


class PlainChoice(StrangeChoice):
    """The same, where its words are known."""

    delta: PlainWords | None = None
    message: PlainWords | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(text for words in (self.delta, self.message) if words is not None for text in words.texts)


UNREADABLE = ReportedUsage(-1, -1)

decode_known = msgspec.json.Decoder(Answer).decode
decode_remarked = msgspec.json.Decoder(RemarkedAnswer).decode
KNOWN_MEMBERS = frozenset(Answer.__struct_fields__)
decode_strange = msgspec.json.Decoder(StrangeAnswer).decode
decode_choices: Callable[[Raw], list[Raw] | None] = msgspec.json.Decoder(list[Raw] | None).decode
decode_choice = msgspec.json.Decoder(Choice).decode
decode_plain_choice = msgspec.json.Decoder(PlainChoice).decode
decode_strange_choice = msgspec.json.Decoder(StrangeChoice).decode
decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
decode_usage: Callable[[Raw], ReportedUsage | None] = msgspec.json.Decoder(ReportedUsage | None).decode
decode_anything = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode
_NUMBER = re.compile(r"[-+.eE\d]*")
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_answer(text: bytes) -> Answer:
    """Read a whole answer, or a chunk. Raise NotAnAnswer."""
    try:
        return decode_known(text)
    except NOT_READ:
        pass
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
        return _read_strange(strictly_written(text))
    except NOT_READ:
        raise NotAnAnswer from None


def text_seen_again(choice: Choice, *, thoughts: bool) -> str:
    """Of what the vendor wants to see again, with its thoughts or without."""
    found = [words for words in (choice.delta, choice.message) if words is not None]
    each = [value for words in found for value in words.seen_again if thoughts or value is not words.thinking_blocks]
    return "".join(map(_text_in, each))


def characters_left_out(said: bytes, told: bytes, silent: frozenset[str]) -> int:
    """How much text of what a vendor said is not in what callers are told of it. `silent`: names of what says nothing,
    whatever stands there."""
    if len(said) > STRINGS_BYTES_MOST:
        return max(0, len(said) - len(told))
    try:
        texts = list(_strings(decode_anything(said), "", silent))
    except NOT_READ:
        return 0
    return sum(len(text) for text in texts if encode(text)[1:-1] not in told)


def text_of_label(label: Label, before: Label) -> str:
    """What stands on a chunk of a stream, where it is not what stood there before."""
    return "".join(_text_in(now) for now, then in zip(label, before, strict=True) if now not in (then, NOTHING))


def text_of_logprobs(choice: Choice) -> str:
    """They say again, token by token, what stands in the content; or say it alone."""
    return "" if choice.logprobs == NULL else _text_in(choice.logprobs)


def usage_in(usage: ReportedUsage | None) -> Usage | None:
    if usage is None or usage is UNREADABLE:
        return None
    details = usage.prompt_tokens_details
    cached_tokens = (details.cached_tokens or 0) if details is not None else 0
    return Usage(usage.prompt_tokens, usage.completion_tokens, cached_tokens)


def _read_with_remarks(text: bytes) -> Answer:
    """One whose choices are known, with something beside them that is not: many vendors put a remark there."""
    answer = decode_remarked(text)
    remarks = [(name, value) for name, value in decode_members(text).items() if name not in KNOWN_MEMBERS]
    answer.strange_text = "".join(_text_in(value, name) for name, value in remarks)
    return answer


def _read_strange(text: bytes) -> Answer:
    strange, members = decode_strange(text), decode_members(text)
    usage = _usage(strange.usage)
    beside = "".join(_text_in(value, name) for name, value in members.items() if name not in READ_APART)
    choices = _choices(strange.choices)
    if usage is UNREADABLE and not any(choice.text or choice.strange_text for choice in choices or ()):
        # Where an answer says nothing else, what stands in place of its usage is what it says.
        beside += _words_in(strange.usage)
    return Answer(
        choices=choices,
        usage=usage,
        error=strange.error,
        usage_so_far=_usage(members.get("usage_so_far", NULL)),
        strange_text=beside,
        **{name: members[name] for name in LABEL if name in members},
    )


def strictly_written(text: bytes) -> bytes:
    """The same JSON for a strict reader, with a mark in place of what is no text and null in place of what is no
    number. Raise NotAnAnswer."""
    if len(text) > LENIENT_BYTES_MOST:
        raise NotAnAnswer
    try:
        value = json.loads(text.decode("utf-8-sig", "replace"), parse_constant=lambda _: None, strict=False)
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        raise NotAnAnswer from None


def _choices(strange: Raw) -> list[Choice] | None:
    try:
        each = decode_choices(strange)
    except NOT_READ:
        return [Choice(strange_text=_text_in(strange))]
    return None if each is None else [_choice(choice) for choice in each]


def _choice(strange: Raw) -> Choice:
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
    silent = frozenset({"logprobs"}) if plain.texts else frozenset()
    strange_text = _text_in(strange, besides=plain.texts, silent=silent)
    return Choice(index=plain.index, finish_reason=plain.ended, delta=words, strange_text=strange_text)


def _stranger_choice(strange: Raw) -> Choice:
    text = _text_in(strange)
    try:
        known = decode_strange_choice(strange)
    except NOT_READ:
        return Choice(strange_text=text)
    return Choice(index=known.index, finish_reason=known.ended, strange_text=text)


def _usage(strange: Raw) -> ReportedUsage | None:
    try:
        return decode_usage(strange)
    except NOT_READ:
        return UNREADABLE


def _text_in(value: Raw, name: str = "", besides: tuple[str, ...] = (), silent: frozenset[str] = frozenset()) -> str:
    """Every text in a value that may be output, each once where it stands several times in the same value, `besides`
    those that are known already."""
    size_bytes = len(memoryview(value))
    if size_bytes > STRINGS_BYTES_MOST:
        return bytes(value).decode("utf-8", "replace")
    try:
        return "".join(
            text for text in dict.fromkeys(_strings(decode_anything(value), name, silent)) if text not in besides
        )
    except NOT_READ:
        # A number out of range, perhaps: what it stands beside is counted with it.
        return bytes(value).decode("utf-8", "replace")


def _words_in(value: Raw) -> str:
    """Of what should be numbers alone: texts that are none."""
    try:
        leaves = [leaf for _, leaf in _leaves(decode_anything(value), "", frozenset())]
    except NOT_READ:
        return ""
    return "".join(leaf for leaf in leaves if isinstance(leaf, str) and not _NUMBER.fullmatch(leaf))


def _strings(value: Any, name: str, silent: frozenset[str] = frozenset()) -> Iterator[str]:
    """Texts, numbers as they are written, and names of what is neither."""
    for within, leaf in _leaves(value, name, silent):
        text = within if isinstance(leaf, bool) else str(leaf)
        is_none = within in NO_OUTPUT and len(text) <= NO_OUTPUT_CHARACTERS_MOST
        if not is_none and text not in KNOWN_WORDS:
            yield text


def _leaves(value: Any, name: str, silent: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """What is no object, array or null, each with its name; within what is no output, with the name of that."""
    waiting: list[tuple[str, Any]] = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, list):
            waiting.extend((name, each) for each in reversed(value))
        elif isinstance(value, dict):
            within = name if name in NO_OUTPUT else None
            waiting.extend((within or member, each) for member, each in reversed(value.items()) if member not in silent)
        elif value is not None:
            yield name, value
