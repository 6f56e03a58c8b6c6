"""Contents and their parts: what each may consist of, and the text that is in it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tollkeeper_simulator.dialects.gemini.fields import (
    boolean,
    inside,
    items,
    members,
    octets,
    refuse,
    refuse_field,
    refuse_value,
    text,
)

Fields = dict[str, Any]

# A part is one of these …
DATA_FIELDS = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
})  # fmt: skip
# … with any of those beside it.
BESIDE = frozenset({
    "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription",
    "mediaProcessing", "speechMetadata",
})  # fmt: skip
ROLES = ("user", "model")


class Content(NamedTuple):
    """One turn; its parts with their fields in camel case."""

    role: str
    parts: list[Fields]

    @property
    def calls(self) -> list[Fields]:
        return [part for part in self.parts if "functionCall" in part]

    @property
    def responses(self) -> list[Fields]:
        return [part["functionResponse"] for part in self.parts if "functionResponse" in part]

    def texts(self) -> Iterator[str]:
        return (part["text"] for part in self.parts if part.get("text") and not part.get("thought"))


def read_content(value: object, path: str) -> Content:
    given = members(value, path, ("role", "parts"))
    role = given.get("role", "user")
    if path != "system_instruction" and role not in ROLES:
        refuse("Please use a valid role: user, model.")
    if not given.get("parts"):
        refuse_field(inside(path, "parts"), "contents.parts must not be empty.")
    parts = items(given["parts"], path)
    return Content(role, [_read_part(part, f"{path}.parts[{index}]") for index, part in enumerate(parts)])


def _read_part(value: object, path: str) -> Fields:
    part = members(value, path, DATA_FIELDS | BESIDE)
    data = [name for name in part if name in DATA_FIELDS]
    if not data:
        refuse_field(f"{path}.data", "required oneof field 'data' must have one initialized field")
    if len(data) > 1:
        refuse_value(path, "oneof", f"oneof field 'data' is already set. Cannot set '{data[1]}'")
    if "thought" in part:
        boolean(part["thought"], inside(path, "thought"))
    if "thoughtSignature" in part:
        octets(part["thoughtSignature"], inside(path, "thoughtSignature"))
    reader = READERS.get(data[0])
    if reader is not None:
        part[data[0]] = reader(part[data[0]], inside(path, data[0]))
    return part


def _read_inline_data(value: object, path: str) -> Fields:
    given = members(value, path, ("mimeType", "data", "displayName"))
    if not text(given.get("mimeType", ""), inside(path, "mimeType")):
        refuse_field(inside(path, "mimeType"), "mime_type must be set.")
    if not octets(given.get("data", ""), inside(path, "data")):
        refuse_field(inside(path, "data"), "data must not be empty.")
    return given


def _read_file_data(value: object, path: str) -> Fields:
    given = members(value, path, ("mimeType", "fileUri", "displayName"))
    if not text(given.get("fileUri", ""), inside(path, "fileUri")):
        refuse_field(inside(path, "fileUri"), "file_uri must be set.")
    return given


def _read_call(value: object, path: str) -> Fields:
    return _read_named(members(value, path, ("id", "name", "args")), path, "args")


def _read_response(value: object, path: str) -> Fields:
    given = members(value, path, ("id", "name", "response", "parts", "willContinue", "scheduling"))
    return _read_named(given, path, "response")


def _read_named(given: Fields, path: str, holds: str) -> Fields:
    """A call or its response: a name, and an object."""
    if not text(given.get("name", ""), inside(path, "name")):
        refuse_field(inside(path, "name"), "Name cannot be empty.")
    if not isinstance(given.get(holds, {}), dict):
        refuse_value(inside(path, holds), "type.googleapis.com/google.protobuf.Struct", f'"{given[holds]}"')
    return given


READERS: dict[str, Callable[[object, str], Any]] = {
    "text": text,
    "inlineData": _read_inline_data,
    "fileData": _read_file_data,
    "functionCall": _read_call,
    "functionResponse": _read_response,
}
