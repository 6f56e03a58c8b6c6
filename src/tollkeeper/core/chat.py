"""Chat orders: what of a request body is priced, and the body as it goes on to a provider.

Rules of this file
1. We validate what we price. Every other field passes through, byte for byte.
2. Base64 is never counted as text: images, audio and files are held for by the catalog's figure.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Raw

from tollkeeper.core import tokens
from tollkeeper.core.errors import InvalidParameter, MissingParameter
from tollkeeper.core.json_fields import encode, read_asked, read_fields

CHOICES_MOST = 128
TOKENS_MOST = 10**9
# The vendor's own framing: each message, and the beginning of the answer.
MESSAGE_TOKENS = 3
ANSWER_TOKENS = 3
ONE_TOKEN_ROLES = frozenset({"system", "user", "assistant", "tool", "developer", "function"})
# Efforts that are none.
NO_EFFORT = frozenset({b"null", b'"none"', b'"minimal"'})
# Kinds of content parts that are text, each in a field of its own name.
TEXT_PARTS = ("text", "refusal")

WholeNumber = Annotated[int, Meta(ge=1, le=TOKENS_MOST)]


class File(msgspec.Struct):
    """A file in a message. One that lies at the provider is whoever's put it there: our callers have none."""

    file_id: None = None


class Part(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None
    file: File | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[Part] | None = None
    name: str | None = None
    tool_calls: Raw = Raw()
    function_call: Raw = Raw()

    def texts(self) -> list[str]:
        """Everything that the provider will count, but a role that is one token."""
        found = [] if self.role in ONE_TOKEN_ROLES else [self.role]
        if self.name is not None:
            found.append(self.name)
        if isinstance(self.content, str):
            found.append(self.content)
        elif self.content is not None:
            found += [text for part in self.content for text in (part.text, part.refusal) if text is not None]
        for calls in (self.tool_calls, self.function_call):
            if calls and bytes(calls) != b"null":
                found.append(bytes(calls).decode())
        return found

    @property
    def framing_tokens(self) -> int:
        return MESSAGE_TOKENS + (self.name is not None) + (self.role in ONE_TOKEN_ROLES)

    @property
    def media_parts(self) -> int:
        return sum(part.type not in TEXT_PARTS for part in self.content) if isinstance(self.content, list) else 0


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Asked(msgspec.Struct):
    """The fields of a body that are priced."""

    model: str | None = None
    messages: list[Message] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=CHOICES_MOST)] | None = None
    max_tokens: WholeNumber | None = None
    max_completion_tokens: WholeNumber | None = None


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
}
WANTED_OF_FILES = "cannot be used: files are sent in the message itself, as file_data"
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
    framing_tokens: int
    texts: tuple[str, ...]
    fields: Mapping[str, Raw]
    body: bytes

    @property
    def thinks(self) -> bool:
        """Whether the caller asks the model to think before it speaks, as protocol or vendor have it."""
        effort, thinking = self.fields.get("reasoning_effort"), self.fields.get("thinking")
        if thinking is not None and bytes(thinking) != b"null":
            return b'"disabled"' not in bytes(thinking)
        return effort is not None and bytes(effort) not in NO_EFFORT

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
    media_parts, framing_tokens, texts = 0, ANSWER_TOKENS, []
    for message in asked.messages:
        media_parts += message.media_parts
        framing_tokens += message.framing_tokens
        texts += message.texts()
    return ChatOrder(
        model=asked.model,
        stream=bool(asked.stream),
        wants_usage=bool(asked.stream_options and asked.stream_options.include_usage),
        n=asked.n or 1,
        max_output_tokens=max(asked.max_tokens or 0, asked.max_completion_tokens or 0) or None,
        media_parts=media_parts,
        framing_tokens=framing_tokens,
        texts=(*texts, *_schemas(fields)),
        fields=fields,
        body=body,
    )


def _wanted(place: str) -> str:
    """What to send instead of what is wrong at a place."""
    return WANTED.get(place, WANTED_OF_FILES if place.endswith(".file_id") else WANTED_IN_MESSAGES)


def _schemas(fields: Mapping[str, Raw]) -> Iterator[str]:
    """Descriptions of tools and of the answer's form are input too."""
    for name in ("tools", "functions", "response_format"):
        if name in fields:
            yield bytes(fields[name]).decode()
