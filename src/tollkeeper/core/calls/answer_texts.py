"""The texts in JSON whose form we do not know, or that should have none.

Rules of this file
1. Every string may be output, unless its name says that it is none: we do not own the vendor's schema, and a text that
   has passed uncounted would have been free.
2. What is no output is short. More of it than a little, in one string or in many, is a text like any other.
3. Reading a large value string by string would keep other calls waiting: its bytes are taken for its text.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.answer_forms import (
    NULL,
    QUIET_CHARACTERS_MOST,
    FinishReason,
    MessageRole,
    ReceivedAnswer,
    ReceivedChoice,
)
from tollkeeper.core.calls.json_numbers import read_float

STRINGS_BYTES_MOST = 256 * 1024
# Names of what is no output, as long as there is little of it.
NO_OUTPUT = frozenset(
    {
        *("id", "index", "type", "created", "format", "matched_stop", "obfuscation", "status"),
        *("content_filter_results", "prompt_filter_results", "x_groq"),
        # Of events of a response: where something stands.
        *("item_id", "call_id", "sequence_number", "output_index", "content_index", "summary_index"),
        "annotation_index",
    }
)
# Words of the protocol itself, and of vendors': the mark on a part that is a thought, and how code that was run ended.
VENDORS_WORDS = ("thought", "PYTHON", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
KNOWN_WORDS = frozenset(map(str, (*get_args(MessageRole), *get_args(FinishReason), *VENDORS_WORDS)))
# A vendor's remarks on what it has filtered, written out in JSON: so much is not looked at.
FILTERS_BYTES_MOST = 512
# Logprobs say a text again, with twenty tokens that could have stood in the place of each, and of short ones those are
# longer: so many times its length at most. Written out in JSON, with their numbers, each of its characters may have so
# many bytes.
LOGPROBS_TIMES = 128
LOGPROBS_BYTES_EACH = 1_024
LOGPROBS_NAMES = frozenset(
    {
        *("content", "refusal", "token", "logprob", "bytes", "top_logprobs"),
        *("tokens", "token_logprobs", "token_ids", "text_offset"),
    }
)
# A token has its probability, and the numbers of its bytes: up to four for each character.
NUMBERS_EACH = 6

decode_anything = msgspec.json.Decoder(float_hook=read_float).decode
# With every number that has a point or an exponent as the text that it was: `1e9` has three characters.
decode_as_written = msgspec.json.Decoder(float_hook=str).decode
encode = msgspec.json.Encoder().encode
_NUMBER = re.compile(r"[-+.eE\d]*")
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def text_in(value: Raw, name: str = "", besides: tuple[str, ...] = (), silent: frozenset[str] = frozenset()) -> str:
    """Every text in a value that may be output, each once where it stands under several names, `besides` those that are
    known already."""
    if size_of(value) > STRINGS_BYTES_MOST:
        return _as_written(value)
    try:
        read = decode_as_written(value)
        found = _once(_strings(read, name, silent)) if isinstance(read, list | dict) else _alone(read, name)
        return "".join(text for text in found if text not in besides)
    except NOT_READ:
        # Nested too deep, perhaps, or no UTF-8.
        return _as_written(value)


def words_in(value: Raw) -> str:
    """Texts that are no numbers, in what should be numbers alone."""
    try:
        leaves = [leaf for _, leaf in _leaves(decode_anything(value), "", frozenset())]
    except NOT_READ:
        return ""
    return "".join(leaf for leaf in leaves if isinstance(leaf, str) and not _NUMBER.fullmatch(leaf))


def label_in(value: Raw) -> str | None:
    """What stands on every chunk alike, whatever its form."""
    try:
        label = decode_anything(value)
    except NOT_READ:
        return _as_written(value)
    return label if label is None or isinstance(label, str) else _as_written(value)


def text_left_out(
    said: bytes, translated: bytes, silent: frozenset[str], silent_on_top: frozenset[str] = frozenset()
) -> str:
    """The text of what a vendor said that is not in its translation. `silent`: names of what says nothing, whatever
    stands there; `silent_on_top`: where it is a member of the whole."""
    try:
        value = decode_anything(said)
        if silent_on_top and isinstance(value, dict):
            value = {name: each for name, each in value.items() if name not in silent_on_top}
        texts = [text for _, text in _strings(value, "", silent)]
    except NOT_READ:
        return ""
    return "".join(text for text in texts if encode(text)[1:-1] not in translated)


def text_beside(answer: ReceivedAnswer) -> str:
    """Text beside the choices that may be output. What a translator reports on the way has no choices beside it."""
    text = answer.strange_text + text_of_filters(answer.prompt_filter_results)
    return text if answer.usage_so_far is NULL else text + text_in(answer.usage_so_far)


def text_of_filters(value: Raw) -> str:
    """The text of a vendor's remarks on what it has filtered; nothing, where they are as short as such remarks are."""
    return "" if size_of(value) <= FILTERS_BYTES_MOST else text_in(value, "content_filter_results")


def text_of_logprobs(logprobs: Mapping[str, Raw], said_characters: int) -> str:
    """They say again, token by token, what stands beside them: so much of a text is free. Alone, they are the text."""
    if not said_characters:
        return "".join(text_in(value, name) for name, value in logprobs.items())
    size_bytes = sum(map(size_of, logprobs.values()))
    if size_bytes <= QUIET_CHARACTERS_MOST + LOGPROBS_TIMES * said_characters:
        return ""
    if size_bytes <= STRINGS_BYTES_MOST:
        try:
            return beyond_tokens([decode_anything(value) for value in logprobs.values()], said_characters)
        except NOT_READ:
            pass
    free_bytes = LOGPROBS_BYTES_EACH * said_characters
    return "" if size_bytes <= free_bytes else "".join(map(_as_written, logprobs.values()))[free_bytes:]


def text_seen_again(choice: ReceivedChoice, *, thoughts: bool) -> str:
    """The text of what the vendor wants to see again, with its thoughts or without. Without: of a whole answer, what
    stands beside the thoughts that it shows, for nobody has counted it before."""
    found = [words for words in (choice.delta, choice.message) if words is not None]
    each = [value for words in found for value in words.seen_again if thoughts or value is not words.thinking_blocks]
    text = "".join(map(text_in, each))
    whole = choice.message
    if thoughts or whole is None or whole.thinking_blocks == NULL:
        return text
    return text + text_left_out(bytes(whole.thinking_blocks), encode(whole.reasoning_content), frozenset())


def size_of(value: Raw) -> int:
    return len(memoryview(value))


def _as_written(value: Raw) -> str:
    return bytes(value).decode("utf-8", "replace")


def beyond_tokens(logprobs: list[Any], said_characters: int) -> str:
    """What stands in logprobs beyond the tokens that they can have, and the numbers that those can have."""
    texts, numbers = [], []
    waiting = list(logprobs)
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            texts += [name for name in value if name not in LOGPROBS_NAMES]
            waiting.extend(reversed(value.values()))
        elif isinstance(value, str):
            texts.append(value)
        elif value is not None:
            numbers.append(value)
    text = "".join(texts)
    free_characters = QUIET_CHARACTERS_MOST + LOGPROBS_TIMES * said_characters
    free_numbers = QUIET_CHARACTERS_MOST + NUMBERS_EACH * min(len(text), free_characters)
    return text[free_characters:] + "".join(map(str, numbers[free_numbers:]))


def _alone(leaf: Any, name: str) -> tuple[str, ...]:
    """The text of what stands in no list and no object, as `_strings` has it: many chunks have one such remark."""
    text = name if isinstance(leaf, bool) else str(leaf)
    is_quiet = text in KNOWN_WORDS or (name in NO_OUTPUT and len(text) <= QUIET_CHARACTERS_MOST)
    return () if leaf is None or is_quiet else (text,)


def _once(strings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The same text under another name says nothing new. Under its own name it does, as one word of a list may."""
    times: dict[tuple[str, str], int] = defaultdict(int)
    most: dict[str, int] = defaultdict(int)
    for named in strings:
        times[named] += 1
        if times[named] > most[named[1]]:
            most[named[1]] += 1
            yield named[1]


def _strings(value: Any, name: str, silent: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Texts, numbers as they are written, and once the name of what is true or false, each with its name."""
    quiet: dict[str, str] = {}
    flags: set[str] = set()
    free_characters = QUIET_CHARACTERS_MOST
    for within, leaf in _leaves(value, name, silent):
        is_new_flag = isinstance(leaf, bool) and within not in flags
        text = within if is_new_flag else str(leaf)
        if is_new_flag:
            flags.add(within)
        if text in KNOWN_WORDS:
            continue
        if within in NO_OUTPUT and len(text) <= QUIET_CHARACTERS_MOST:
            quiet[text] = within
        else:
            free_characters += len(text)
            yield within, text
    # There can be as much of it as of everything else: each thing has its id.
    if sum(map(len, quiet)) > free_characters:
        yield from ((within, text) for text, within in quiet.items())


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
