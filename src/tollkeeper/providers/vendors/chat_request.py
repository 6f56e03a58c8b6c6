"""Chat requests as our protocol has them, read to the last part: what is translated for other vendors.

Rules of this file
1. What is read is what a translator needs; what is not read stands in the table of `fields`.
2. A part of a form that is not here is the caller's to correct: it is refused by its place.
"""

import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject
from tollkeeper.core.errors import InvalidParameter, MalformedBody, UnsupportedParameter

_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_DATA_URL = re.compile(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)(?:;[\w=.-]+)*;base64,")
DATA_URL_BEGINNING = 256


class ImageUrl(msgspec.Struct):
    url: str


class InputAudio(msgspec.Struct):
    data: str
    format: str


class File(msgspec.Struct):
    file_data: str | None = None
    filename: str | None = None


class CacheControl(msgspec.Struct):
    """A vendor's own, which passes where it is known."""

    type: str = "ephemeral"
    ttl: str | None = None


class ContentPart(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | None = None
    input_audio: InputAudio | None = None
    file: File | None = None
    cache_control: CacheControl | None = None


class FunctionCall(msgspec.Struct):
    name: str
    arguments: str = ""


class Signed(msgspec.Struct):
    thought_signature: str | None = None


class ExtraContent(msgspec.Struct):
    """Where a vendor's own compatible endpoint keeps what it wants to see again."""

    google: Signed | None = None


class ThinkingBlock(msgspec.Struct, omit_defaults=True):
    """What a model thought, as its vendor gave it: it must go back unchanged."""

    type: str
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class ToolCall(msgspec.Struct):
    """A call that a model made earlier. `extra_content` is what its vendor wants to see again."""

    id: str = ""
    function: FunctionCall | None = None
    extra_content: Raw = Raw(b"null")


class Message(msgspec.Struct):
    role: str
    content: str | list[ContentPart] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    # What a model thought, as its vendor wants to see it again.
    thinking_blocks: list[ThinkingBlock] | None = None
    # The old form of tool calls.
    function_call: Raw = Raw(b"null")
    # As of a tool call.
    extra_content: Raw = Raw(b"null")

    @property
    def parts(self) -> list[tuple[int, ContentPart]]:
        """The content by place, with a plain text as its one part. Texts of nothing are none."""
        parts = [ContentPart("text", text=self.content)] if isinstance(self.content, str) else self.content or []
        return [(at, part) for at, part in enumerate(parts) if part.type not in TEXTS or _has_words(part)]


def _has_words(part: ContentPart) -> bool:
    return bool((part.text or part.refusal or "").strip())


class Function(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: Raw = Raw(b"null")
    strict: bool | None = None


class Tool(msgspec.Struct):
    type: str = "function"
    function: Function | None = None
    cache_control: CacheControl | None = None


class NamedFunction(msgspec.Struct):
    name: str


class NamedTool(msgspec.Struct):
    type: str
    function: NamedFunction | None = None


class JsonSchema(msgspec.Struct):
    schema: Raw = Raw(b"null")


class ResponseFormat(msgspec.Struct):
    type: str
    json_schema: JsonSchema | None = None


class Thinking(msgspec.Struct, omit_defaults=True):
    """How a vendor is told to think, in its own words."""

    type: str
    budget_tokens: int | None = None
    display: str | None = None


class ChatRequest(msgspec.Struct):
    messages: list[Message]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    tools: list[Tool] | None = None
    tool_choice: str | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    thinking: Thinking | None = None
    cache_control: CacheControl | None = None
    user: str | None = None
    safety_identifier: str | None = None

    @property
    def most_tokens(self) -> int | None:
        """The cap of the answer: the newer name's, where both are given."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


TEXTS = ("text", "refusal")
NOTHING: tuple[object, ...] = (None, [], {})
SYSTEM_ROLES = frozenset({"system", "developer"})

decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


def read_request(fields: Mapping[str, Raw]) -> ChatRequest:
    """Raise InvalidParameter, naming the place."""
    try:
        return msgspec.json.decode(msgspec.json.encode(fields), type=ChatRequest)
    except msgspec.ValidationError as problem:
        place = _PLACE.search(str(problem))
        if place is None:
            raise MalformedBody from None
        raise InvalidParameter(place["place"], "is not of the form that the protocol gives it") from None
    except (msgspec.DecodeError, RecursionError):
        raise MalformedBody from None


def add(body: JsonObject, name: str, value: object) -> None:
    """What is not asked for is not sent."""
    if value not in NOTHING:
        body[name] = value


def written(body: JsonObject) -> bytes:
    try:
        return msgspec.json.encode(body)
    except RecursionError:
        raise MalformedBody from None


def media_in(data_url: str) -> tuple[str, str] | None:
    """Kind and base64 text of a data URL; None where it is another address."""
    found = _DATA_URL.match(data_url, 0, DATA_URL_BEGINNING)
    return (found["kind"], data_url[found.end() :]) if found else None


def arguments_of(call: FunctionCall, place: str) -> Mapping[str, Raw]:
    """The arguments of an earlier tool call, which models write as the text of a JSON object."""
    try:
        return decode_members(call.arguments) if call.arguments.strip() else {}
    except NOT_READ:
        raise InvalidParameter(f"{place}.function.arguments", "must be the text of a JSON object") from None


def signature_in(extra_content: Raw) -> str | None:
    """The signature of thoughts; None where there is none, or where it has another form."""
    try:
        extra = msgspec.json.decode(extra_content, type=ExtraContent | None)
    except NOT_READ:
        return None
    return extra.google.thought_signature or None if extra and extra.google else None


def is_null(value: Raw) -> bool:
    return bytes(value) == b"null"


def functions_in(request: ChatRequest) -> list[tuple[Tool, Function]]:
    """The tools on offer. Raise UnsupportedParameter where one is no function."""
    functions = []
    for index, tool in enumerate(request.tools or ()):
        if tool.type != "function" or tool.function is None:
            raise UnsupportedParameter(f"tools[{index}]", "this model's provider takes functions only")
        functions.append((tool, tool.function))
    return functions


def chosen_function(choice: NamedTool) -> str:
    if choice.type != "function" or choice.function is None:
        raise UnsupportedParameter("tool_choice", "this model's provider takes auto, none, required, or one function")
    return choice.function.name
