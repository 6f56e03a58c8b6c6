"""Checks of single fields, refused in the vendor's words.

Rules of this file
1. A field may be written in camel case or, as in the vendor's protocol files, with underscores.
2. Paths in refusals have underscores, and indexes in brackets.
"""

import base64
import binascii
import re
from collections.abc import Collection
from typing import Any, NoReturn

from tollkeeper_simulator.problem import Problem, Refused

_CAPITAL = re.compile(r"(?<!^)([A-Z])")
_UNDERSCORE = re.compile(r"_([a-z])")


def refuse(said: str) -> NoReturn:
    raise Refused(Problem(400, said))


def refuse_payload(said: str, path: str) -> NoReturn:
    """What is no message of the protocol at all."""
    place = f" at '{path}'" if path else ""
    refuse(f"Invalid JSON payload received. {said}{place}: Cannot find field.")


def refuse_field(path: str, said: str) -> NoReturn:
    """What is one, but not a request that can be served."""
    refuse(f"* GenerateContentRequest.{path}: {said}\n")


def refuse_value(path: str, kind: str, said: str) -> NoReturn:
    refuse(f"Invalid value at '{path}' ({kind}), {said}")


def members(value: object, path: str, known: Collection[str]) -> dict[str, Any]:
    """An object with none but these fields, named in camel case; null is as good as absent."""
    if not isinstance(value, dict):
        refuse_value(path, "TYPE_MESSAGE", "an object is expected.")
    named = {_UNDERSCORE.sub(lambda found: found[1].upper(), name): (name, held) for name, held in value.items()}
    for camel, (name, _) in named.items():
        if camel not in known:
            refuse_payload(f'Unknown name "{name}"', path)
    return {camel: held for camel, (_, held) in named.items() if held is not None}


def inside(path: str, name: str) -> str:
    """The path of a field."""
    snake = _CAPITAL.sub(lambda found: "_" + found[1].lower(), name)
    return f"{path}.{snake}" if path else snake


def items(value: object, path: str) -> list[Any]:
    """A list; the vendor takes a single value for a list of one."""
    return value if isinstance(value, list) else [value]


def text(value: object, path: str) -> str:
    if isinstance(value, list):
        refuse(
            f'Invalid JSON payload received. Unknown name "{path}": Proto field is not repeating, cannot start list.'
        )
    if not isinstance(value, str):
        refuse_value(path, "TYPE_STRING", f"{value}")
    return value


def boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        refuse_value(path, "TYPE_BOOL", f'"{value}"')
    return value


def integer(value: object, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        refuse_value(path, "TYPE_INT32", f'"{value}"')
    return value


def number(value: object, path: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        refuse_value(path, "TYPE_FLOAT", f'"{value}"')
    return value


def octets(value: object, path: str) -> bytes:
    """Base64 in either alphabet, with or without its padding."""
    given = text(value, path).rstrip("=")
    try:
        return base64.b64decode(given.replace("-", "+").replace("_", "/") + "=" * (-len(given) % 4), validate=True)
    except (binascii.Error, ValueError):
        refuse_value(path, "TYPE_BYTES", f'Base64 decoding failed for "{given[:64]}"')
