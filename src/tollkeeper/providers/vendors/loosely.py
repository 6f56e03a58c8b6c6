"""JSON of which nothing is promised: whatever stands in a place, what is wanted of it or nothing."""

from typing import Any, TypeGuard

import msgspec

JsonObject = dict[str, Any]

# More of anything than a call could use: nobody counted that.
COUNT_MOST = 10**12

decode = msgspec.json.Decoder().decode
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def an_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def a_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_MOST
