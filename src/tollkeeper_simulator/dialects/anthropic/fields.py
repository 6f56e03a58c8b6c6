"""Checks of single fields, refused in the vendor's words: the path of the field, then what is wrong with it."""

import base64
import binascii
from collections.abc import Collection
from typing import Any, NoReturn

from tollkeeper_simulator.problem import Problem, Refused


def refuse(path: str, said: str) -> NoReturn:
    raise Refused(Problem(400, f"{path}: {said}"))


def members(value: object, path: str, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """An object with all of the required fields and none but these."""
    if not isinstance(value, dict):
        refuse(path, "Input should be a valid dictionary")
    for name in required:
        if name not in value:
            refuse(f"{path}.{name}", "Field required")
    for name in value:
        if name not in required and name not in optional:
            refuse(f"{path}.{name}", "Extra inputs are not permitted")
    return value


def text(value: object, path: str) -> str:
    if not isinstance(value, str):
        refuse(path, "Input should be a valid string")
    return value


def integer(value: object, path: str, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(path, "Input should be a valid integer")
    if value < least:
        refuse(path, f"Input should be greater than or equal to {least}")
    return value


def number(value: object, path: str, most: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        refuse(path, "Input should be a valid number")
    if value < 0:
        refuse(path, "Input should be greater than or equal to 0")
    if value > most:
        refuse(path, f"Input should be less than or equal to {most:g}")
    return value


def boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        refuse(path, "Input should be a valid boolean")
    return value


def items(value: object, path: str) -> list[Any]:
    if not isinstance(value, list):
        refuse(path, "Input should be a valid list")
    return value


def one_of(value: object, path: str, choices: Collection[str]) -> str:
    if value not in choices:
        *first, last = (f"'{choice}'" for choice in choices)
        refuse(path, f"Input should be {', '.join(first)}{' or ' if first else ''}{last}")
    return str(value)


def base64_text(value: object, path: str) -> None:
    try:
        decoded = base64.b64decode(text(value, path), validate=True)
    except (binascii.Error, ValueError):
        refuse(path, "invalid base64 data")
    if not decoded:
        refuse(path, "file cannot be empty")
