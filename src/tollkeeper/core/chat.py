"""Chat orders: what of a request body is priced, and the body as it goes on to a provider.

Rules of this file
1. What is priced is what is sent. A body that two readers could read differently (a parameter that stands twice, a
   number out of range, text that is not UTF-8) is refused.
2. We validate what we price. Every other field passes through, byte for byte.
3. Base64 is never counted as text: images, audio and files are held for by the catalog's figure.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Raw

from tollkeeper.core import tokens
from tollkeeper.core.errors import InvalidParameter, MalformedBody, MissingParameter

CHOICES_MOST = 128
TOKENS_MOST = 10**9
# The vendor's own framing: each message, and the beginning of the answer.
MESSAGE_TOKENS = 3
ANSWER_TOKENS = 3

# Kinds of content parts that are text, each in a field of its own name.
TEXT_PARTS = ("text", "refusal")

_NAME = re.compile(rb'\s*[{,]\s*"(?:[^"\\]|\\.)*"\s*:\s*')

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class ChatOrder(msgspec.Struct, kw_only=True):
    """One chat completion, as asked for. Its content is dropped as soon as a provider has begun to answer."""

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
    asked, fields = _read_json(body)
    messages = _messages(asked)
    options = _stream_options(asked)
    limits = [_whole_number(asked, name, TOKENS_MOST) for name in ("max_completion_tokens", "max_tokens")]
    given = [limit for limit in limits if limit is not None]
    texts = (*(text for message in messages for text in _texts_of(message)), *_schemas(fields))
    return ChatOrder(
        model=_model(asked),
        stream=_flag(asked, "stream"),
        wants_usage=_flag(options, "include_usage", within="stream_options."),
        n=_whole_number(asked, "n", CHOICES_MOST) or 1,
        max_output_tokens=max(given, default=None),
        media_parts=sum(map(_media_parts, messages)),
        framing_tokens=ANSWER_TOKENS + sum(MESSAGE_TOKENS + ("name" in message) for message in messages),
        texts=texts,
        fields=fields,
        body=body,
    )


def _read_json(body: bytes) -> tuple[dict[str, object], dict[str, Raw]]:
    try:
        asked, fields = decode(body), decode_fields(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedBody from None
    if not _each_stands_once(body, fields):
        raise MalformedBody("A parameter stands twice in the request body. Send each once.")
    return asked, fields


def _each_stands_once(body: bytes, fields: Mapping[str, Raw]) -> bool:
    """Whether the values follow each other in the body with only their names between them: of a name that stands
    twice, the reader has kept one value only."""
    if len(body) == 1 + sum(len(name) + len(memoryview(value)) + 4 for name, value in fields.items()):
        # Written without spaces, as SDKs do: no byte is left in which anything could stand twice.
        return True
    at = 0
    for value in map(bytes, fields.values()):
        name = _NAME.match(body, at)
        if name is None or not body.startswith(value, name.end()):
            return False
        at = name.end() + len(value)
    return body[at:].strip().removeprefix(b"{").strip() == b"}"


def _model(asked: Mapping[str, object]) -> str:
    model = asked.get("model")
    if model is None:
        raise MissingParameter("model")
    if not isinstance(model, str) or not model:
        raise InvalidParameter("model", "must be the id of a model")
    return model


def _messages(asked: Mapping[str, object]) -> list[dict[str, object]]:
    messages = asked.get("messages")
    if messages is None:
        raise MissingParameter("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidParameter("messages", "must be an array of at least one message")
    for place, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InvalidParameter(f"messages[{place}]", "must be an object with a role and a content")
        content = message.get("content")
        parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        if not parts and not isinstance(content, str | None):
            raise InvalidParameter(f"messages[{place}].content", "must be a text, or an array of content parts")
    return messages


def _texts_of(message: Mapping[str, object]) -> Iterator[str]:
    """Every text of a message that the provider will count."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    said = (part.get(name) for part in parts for name in TEXT_PARTS)
    for text in (message["role"], message.get("name"), *said):
        if isinstance(text, str):
            yield text
    for name in ("tool_calls", "function_call"):
        if message.get(name) is not None:
            yield encode(message[name]).decode()


def _media_parts(message: Mapping[str, object]) -> int:
    content = message.get("content")
    return sum(part.get("type") not in TEXT_PARTS for part in content) if isinstance(content, list) else 0


def _schemas(fields: Mapping[str, Raw]) -> Iterator[str]:
    """Descriptions of tools and of the answer's form are input too."""
    for name in ("tools", "functions", "response_format"):
        if name in fields:
            yield bytes(fields[name]).decode()


def _flag(asked: Mapping[str, object], name: str, *, within: str = "") -> bool:
    value = asked.get(name)
    if not isinstance(value, bool | None):
        raise InvalidParameter(within + name, "must be true or false")
    return bool(value)


def _stream_options(asked: Mapping[str, object]) -> dict[str, object]:
    options = asked.get("stream_options")
    if not isinstance(options, dict | None):
        raise InvalidParameter("stream_options", "must be an object")
    return options or {}


def _whole_number(asked: Mapping[str, object], name: str, most: int) -> int | None:
    value = asked.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidParameter(name, f"must be a whole number from 1 to {most:,}")
    return value
