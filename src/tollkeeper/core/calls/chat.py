"""Chat orders: what of a request body is priced, and the body as it goes on to a provider.

Rules of this file
1. We validate what we price, and what stands inside of messages and tools (`chat_form`). Which other parameters
   pass is for the provider's vendor to say (`vendors/fields`); what passes does so byte for byte.
2. Base64 is never counted as text: images, audio and files are counted by the catalog's figure, and held for by their
   size, for only the provider knows what they come to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Raw

from tollkeeper.core.calls import tokens
from tollkeeper.core.calls.chat_extras import (
    Extra,
    Modality,
    SearchOptions,
    SpokenAnswer,
    check_priced,
    extras_of,
    marks_in,
    parts_of,
)
from tollkeeper.core.calls.chat_form import (
    CheckedCacheControl,
    CheckedPart,
    CheckedTool,
    PromptCache,
    StreamOptions,
    check_media,
    wanted_inside,
)
from tollkeeper.core.calls.chat_message import CheckedMessage
from tollkeeper.core.calls.conversation import (
    conversation_by_beginning,
    conversation_by_id,
    no_conversation,
    session_in,
    user_in,
)
from tollkeeper.core.calls.json_fields import decode, encode, read_asked, read_fields
from tollkeeper.core.calls.native import Native
from tollkeeper.core.calls.thinking import may_think, within_cap
from tollkeeper.core.errors import InvalidParameter, MissingParameter
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.prices import Price

CHOICES_MOST = 128
TOKENS_MOST = 10**9
# The vendor's own framing of the answer's beginning.
ANSWER_TOKENS = 3
TOP_LOGPROBS_MOST = 20
# What an answer that comes whole may take up: in all; of each token its text, and what is told of each likely one.
WHOLE_BYTES_MOST = 64 * 1024 * 1024
TEXT_BYTES_PER_TOKEN = 8
LOGPROB_BYTES = 100
# Of longer ones the conversation is named with the reading.
NAMED_LATER_BYTES_MOST = 16 * 1024

WholeNumber = Annotated[int, Meta(ge=1, le=TOKENS_MOST)]


class ChatFields(msgspec.Struct):
    """The fields of a body that are priced, or looked into."""

    model: str | None = None
    messages: list[CheckedMessage] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=CHOICES_MOST)] | None = None
    max_tokens: WholeNumber | None = None
    max_completion_tokens: WholeNumber | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=TOP_LOGPROBS_MOST)] | None = None
    logprobs: bool | None = None
    tools: list[CheckedTool] | None = None
    cache_control: CheckedCacheControl | None = None
    prompt_cache_options: PromptCache | None = None
    modalities: list[Modality] | None = None
    audio: SpokenAnswer | None = None
    web_search_options: SearchOptions | None = None

    def extras(self, messages: Sequence[CheckedMessage]) -> tuple[tuple[Extra, ...], bool]:
        """What must have a price, and whether anything is marked for a cache."""
        marks = list(marks_in(messages, self.tools or ()))
        if self.cache_control is not None:
            marks.append(("cache_control", self.cache_control))
        speaks, searches = self.audio is not None, self.web_search_options is not None
        if not (marks or self.modalities or speaks or searches):
            return (), False
        return extras_of(marks, self.modalities or (), speaks=speaks, searches=searches), bool(marks)


# By the place of what is wrong in a body, what callers are told to send instead.
WANTED = {
    "model": "must be the id of a model",
    "messages": "must be an array of at least one message",
    "stream": "must be true or false",
    "stream_options": "must be an object",
    "stream_options.include_usage": "must be true or false",
    "n": f"must be a whole number from 1 to {CHOICES_MOST}",
    "max_tokens": f"must be a whole number from 1 to {TOKENS_MOST:,}",
    "max_completion_tokens": f"must be a whole number from 1 to {TOKENS_MOST:,}",
    "top_logprobs": f"must be a whole number from 0 to {TOP_LOGPROBS_MOST}",
    "logprobs": "must be true or false",
    "modalities": "must be an array of text, audio or image",
    "audio": "must say voice and format, of those that everybody can have",
    "web_search_options": "must be as the protocol has it",
}
WANTED_IN_MESSAGES = "must be a message with a role and a content: a text, or an array of parts that have a type"

# Those that vendors' tables have are refused there where they are written otherwise.
PRICED = tuple(
    name for name in ChatFields.__struct_fields__ if name not in {"modalities", "audio", "web_search_options"}
)
# What caps an answer: the older name, and the newer.
CAPS = ("max_tokens", "max_completion_tokens")

decode_asked = msgspec.json.Decoder(ChatFields).decode


class ChatOrder(msgspec.Struct, kw_only=True):
    """One chat completion, as asked for. Its content is dropped as soon as a provider has begun to answer."""

    # It has one price.
    variant: ClassVar[str] = ""

    model: str
    stream: bool
    # Whether the caller asked for the usage at the end of the stream.
    wants_usage: bool
    n: int
    max_output_tokens: int | None
    media_parts: int
    # The most that those may come to, by their size.
    media_tokens: int
    # For how many tokens each token of the answer is told to be likely, itself included.
    logprobs: int
    framing_tokens: int
    texts: tuple[str, ...]
    fields: Mapping[str, Raw]
    body: bytes
    # What may come beside plain input and output, and what of it must have a price.
    parts: frozenset[Part] = frozenset()
    extras: tuple[Extra, ...] = ()
    # Tells what is the same in all calls of its conversation, and in few others (`core/calls/conversation`).
    conversation: Callable[[], bytes] = no_conversation
    # The order as its caller wrote it, where that was in another dialect than chat.
    native: Native | None = None
    # It asks the model to think, in words of that dialect that have no translation.
    asks_to_think: bool = False

    @property
    def thinks(self) -> bool:
        """Whether the model may think before it speaks, as far as this order has a say in it."""
        return self.asks_to_think or may_think(self.fields)

    def answer_bytes_most(self, max_output_tokens: int) -> int:
        """How large a whole answer to this may be, of a model that says so many tokens."""
        tokens_each = min(self.max_output_tokens or max_output_tokens, max_output_tokens)
        return self.n * tokens_each * (TEXT_BYTES_PER_TOKEN + self.logprobs * LOGPROB_BYTES)

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))

    @property
    def text_tokens_most(self) -> int:
        """A token is at least one byte."""
        return sum(map(_bytes_of, self.texts))

    def input_tokens(self, *, part_tokens: int) -> int:
        """Counted text and framing, and `part_tokens` for each image, audio clip or file."""
        return self.framing_tokens + self.media_parts * part_tokens + sum(map(tokens.count, self.texts))

    def body_with(self, **changes: object) -> bytes:
        """The body with some fields set anew, all others as they came."""
        return encode({**self.fields, **changes})

    def check_price(self, price: Price) -> None:
        """Raise UnsupportedParameter where something is asked for that has no price. Of the provider's tools that the
        order can do without, those with a price stay."""
        check_priced(self.extras, price)
        if self.native is not None:
            self.native.check_price(price)
            kept = self.native.keep_tools(price.parts.tools if price.parts is not None else ())
            self.extras += tuple(Extra("tools", tool) for tool in sorted(kept))

    @property
    def vendor_tools(self) -> Mapping[str, int]:
        """The vendor's tools that this order has used in any case, and how often."""
        return {extra.what: extra.uses for extra in self.extras if extra.uses}

    @property
    def provider_tools(self) -> frozenset[str]:
        """The vendor's tools that this order may use, or not."""
        return frozenset(extra.what for extra in self.extras if not (isinstance(extra.what, Part) or extra.uses))

    def limit_output(self, most_tokens: int, *, thinks: bool) -> None:
        """Ask for no more output than this, for each choice. `thinks`: models that do know the newer name alone."""
        given = [name for name in CAPS if bytes(self.fields.get(name, b"null")) != b"null"]
        for name in given or [CAPS[thinks]]:
            asked = decode(self.fields[name]) if given else most_tokens
            self.fields = {**self.fields, name: Raw(b"%d" % min(asked, most_tokens))}
        self.fields = within_cap(self.fields, most_tokens)
        self.body, self.max_output_tokens = encode(self.fields), most_tokens
        if self.native is not None:
            self.native.limit_output(most_tokens)

    def forget_content(self) -> None:
        self.texts, self.fields, self.body, self.conversation = (), {}, b"", no_conversation
        if self.native is not None:
            self.native.forget_content()


def read_chat(body: bytes) -> ChatOrder:
    fields = read_fields(body, PRICED)
    asked = read_asked(body, decode_asked, _wanted)
    if asked.model is None:
        raise MissingParameter("model")
    if not asked.model:
        raise InvalidParameter("model", WANTED["model"])
    if asked.messages is None:
        raise MissingParameter("messages")
    if not asked.messages:
        raise InvalidParameter("messages", WANTED["messages"])
    framing_tokens, texts = ANSWER_TOKENS, []
    beginning: int | None = None
    media: list[CheckedPart] = []
    for index, message in enumerate(asked.messages):
        if isinstance(message.content, list):
            check_media(message.content, f"messages[{index}].content")
            media += message.media_parts
        framing_tokens += message.framing_tokens
        texts += message.texts()
        if beginning is None and message.role == "user":
            beginning = len(texts)
    extras, is_marked = asked.extras(asked.messages)
    return ChatOrder(
        model=asked.model,
        stream=bool(asked.stream),
        wants_usage=bool(asked.stream_options and asked.stream_options.include_usage),
        n=asked.n or 1,
        max_output_tokens=max(asked.max_tokens or 0, asked.max_completion_tokens or 0) or None,
        media_parts=len(media),
        media_tokens=sum(part.media_tokens for part in media),
        logprobs=1 + (asked.top_logprobs or 0) if asked.logprobs or asked.top_logprobs else 0,
        framing_tokens=framing_tokens,
        texts=(*texts, *_schemas(fields)),
        fields=fields,
        body=body,
        parts=parts_of(fields, is_marked=is_marked, extras=extras),
        extras=extras,
        conversation=_naming(fields, texts[:beginning], len(body)),
    )


def _bytes_of(text: str) -> int:
    # Half a surrogate pair is no text, and has a count all the same.
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _naming(fields: Mapping[str, Raw], beginning: Sequence[str], body_bytes: int) -> Callable[[], bytes]:
    """Names the conversation when it is asked to. What is long is named at once: it would be kept for it."""
    if body_bytes <= NAMED_LATER_BYTES_MOST:
        return partial(_conversation, fields, beginning)
    name = _conversation(fields, beginning)
    return lambda: name


def _conversation(fields: Mapping[str, Raw], beginning: Sequence[str]) -> bytes:
    session = session_in(fields)
    return conversation_by_id(session) if session else conversation_by_beginning(beginning, user_in(fields))


def _wanted(place: str) -> str:
    """What to send instead of what is wrong at a place."""
    return WANTED.get(place) or wanted_inside(place) or WANTED_IN_MESSAGES


def _schemas(fields: Mapping[str, Raw]) -> Iterator[str]:
    """Descriptions of tools and of the answer's form are input too."""
    for name in ("tools", "functions", "response_format"):
        if name in fields:
            yield bytes(fields[name]).decode()
