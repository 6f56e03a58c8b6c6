"""Chat orders: what of a request body is priced, and the body as it goes on to a provider.

Rules of this file
1. We validate what we price, and what stands inside of messages and tools (`core/chat_form`). Which other parameters
   pass is for the provider's vendor to say (`vendors/fields`); what passes does so byte for byte.
2. Base64 is never counted as text: images, audio and files are counted by the catalog's figure, and held for by their
   size, for only the provider knows what they come to.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Raw

from tollkeeper.core import tokens
from tollkeeper.core.chat_form import (
    TEXT_PARTS,
    CacheControl,
    Part,
    PromptCache,
    StreamOptions,
    Tool,
    check_media,
    wanted_inside,
)
from tollkeeper.core.errors import InvalidParameter, MissingParameter
from tollkeeper.core.json_fields import encode, read_asked, read_fields
from tollkeeper.core.thinking import may_think

CHOICES_MOST = 128
TOKENS_MOST = 10**9
# The vendor's own framing: each message, and the beginning of the answer.
MESSAGE_TOKENS = 3
ANSWER_TOKENS = 3
ONE_TOKEN_ROLES = frozenset({"system", "user", "assistant", "tool", "developer", "function"})
TOP_LOGPROBS_MOST = 20
# Ids of tool calls are no text for the model. What is longer is none that a provider gave.
ID_CHARACTERS = 64
# What an answer that comes whole may take up: in all; of each token its text, and what is told of each likely one.
WHOLE_BYTES_MOST = 64 * 1024 * 1024
TEXT_BYTES_PER_TOKEN = 8
LOGPROB_BYTES = 100

WholeNumber = Annotated[int, Meta(ge=1, le=TOKENS_MOST)]


# What a message can have beside its content, all of it counted as it came.
NONE = Raw()
BESIDE = (
    *("tool_calls", "function_call", "refusal", "annotations", "reasoning", "reasoning_content"),
    *("reasoning_details", "thinking_blocks", "extra_content", "provider_specific_fields", "parsed"),
    *("tool_plan", "reasoning_signature"),
)
NOTHING_BESIDE = (NONE,) * len(BESIDE)
read_beside: Callable[["Message"], tuple[Raw, ...]] = attrgetter(*BESIDE)


class Message(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str | list[Part] | None = None
    name: str | None = None
    tool_calls: Raw = NONE
    function_call: Raw = NONE
    tool_call_id: str | None = None
    cache_control: CacheControl | None = None
    # What an answer had beside its content, as SDKs send it back.
    refusal: Raw = NONE
    annotations: Raw = NONE
    reasoning: Raw = NONE
    reasoning_content: Raw = NONE
    reasoning_details: Raw = NONE
    thinking_blocks: Raw = NONE
    extra_content: Raw = NONE
    provider_specific_fields: Raw = NONE
    parsed: Raw = NONE
    # Pictures stand in the content.
    images: None = None
    tool_plan: Raw = NONE
    reasoning_signature: Raw = NONE
    id: str | None = None
    # An answer that was spoken lies at the provider.
    audio: None = None
    # Whether the answer goes on from this message, as some providers name it.
    prefix: bool | None = None
    partial: bool | None = None

    def texts(self) -> list[str]:
        """Everything that the provider will count, but a role that is one token."""
        found = [] if self.role in ONE_TOKEN_ROLES else [self.role]
        if self.name is not None:
            found.append(self.name)
        if isinstance(self.content, str):
            found.append(self.content)
        elif self.content is not None:
            found += [text for part in self.content for text in (part.text, part.refusal) if text is not None]
        if self.tool_call_id is not None and len(self.tool_call_id) > ID_CHARACTERS:
            found.append(self.tool_call_id)
        if (beside := read_beside(self)) != NOTHING_BESIDE:
            found += [bytes(member).decode() for member in beside if member and bytes(member) != b"null"]
        return found

    @property
    def framing_tokens(self) -> int:
        return MESSAGE_TOKENS + (self.name is not None) + (self.role in ONE_TOKEN_ROLES)

    @property
    def media_parts(self) -> list[Part]:
        if not isinstance(self.content, list):
            return []
        return [part for part in self.content if part.type not in TEXT_PARTS]


class Asked(msgspec.Struct):
    """The fields of a body that are priced, or looked into."""

    model: str | None = None
    messages: list[Message] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=CHOICES_MOST)] | None = None
    max_tokens: WholeNumber | None = None
    max_completion_tokens: WholeNumber | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=TOP_LOGPROBS_MOST)] | None = None
    logprobs: bool | None = None
    tools: list[Tool] | None = None
    cache_control: CacheControl | None = None
    prompt_cache_options: PromptCache | None = None


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
}
WANTED_IN_MESSAGES = "must be a message with a role and a content: a text, or an array of parts that have a type"

decode_asked = msgspec.json.Decoder(Asked).decode


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

    @property
    def thinks(self) -> bool:
        """Whether the model may think before it speaks, as far as this order has a say in it."""
        return may_think(self.fields)

    def answer_bytes_most(self, max_output_tokens: int) -> int:
        """How large a whole answer to this may be, of a model that says so many tokens."""
        tokens_each = min(self.max_output_tokens or max_output_tokens, max_output_tokens)
        return self.n * tokens_each * (TEXT_BYTES_PER_TOKEN + self.logprobs * LOGPROB_BYTES)

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))

    def input_tokens(self, *, part_tokens: int) -> int:
        """Counted text and framing, and `part_tokens` for each image, audio clip or file."""
        return self.framing_tokens + self.media_parts * part_tokens + sum(map(tokens.count, self.texts))

    def body_with(self, **changes: object) -> bytes:
        """The body with some fields set anew, all others as they came."""
        return encode({**self.fields, **changes})

    def forget_content(self) -> None:
        self.texts, self.fields, self.body = (), {}, b""


def read_chat(body: bytes) -> ChatOrder:
    fields = read_fields(body, Asked.__struct_fields__)
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
    media: list[Part] = []
    for index, message in enumerate(asked.messages):
        if isinstance(message.content, list):
            check_media(message.content, f"messages[{index}].content")
        media += message.media_parts
        framing_tokens += message.framing_tokens
        texts += message.texts()
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
    )


def _wanted(place: str) -> str:
    """What to send instead of what is wrong at a place."""
    return WANTED.get(place) or wanted_inside(place) or WANTED_IN_MESSAGES


def _schemas(fields: Mapping[str, Raw]) -> Iterator[str]:
    """Descriptions of tools and of the answer's form are input too."""
    for name in ("tools", "functions", "response_format"):
        if name in fields:
            yield bytes(fields[name]).decode()
