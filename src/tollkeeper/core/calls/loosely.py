"""Reading JSON without a schema: each function returns a value of the wanted type, or an empty one."""

from typing import Any, TypeGuard

import msgspec

from tollkeeper.core.calls.answer_forms import NotAnAnswer
from tollkeeper.core.calls.answer_reading import strictly_written
from tollkeeper.core.calls.json_numbers import read_float

JsonObject = dict[str, Any]

# More than any call could use: such a number is not a count.
COUNT_MOST = 10**12

decode_strictly = msgspec.json.Decoder(float_hook=read_float).decode
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, NotAnAnswer)


def decode(data: bytes | str | msgspec.Raw) -> Any:
    """Any JSON, also such as only a strict reader objects to. Raise one of NOT_READ."""
    try:
        return decode_strictly(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return decode_strictly(strictly_written(data.encode() if isinstance(data, str) else bytes(data)))


def an_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def a_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_MOST
