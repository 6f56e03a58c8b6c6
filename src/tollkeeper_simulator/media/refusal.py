"""What the vendor says about fields that it does not take."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from tollkeeper_simulator.media.answer import Fields
from tollkeeper_simulator.problem import Problem, Refused

Order = TypeVar("Order")


def converted(fields: Fields, kind: type[Order]) -> Order:
    """The fields as an order of this kind. Raise Refused for a wrong type."""
    try:
        # A field that is null is one that did not come.
        return msgspec.convert({name: value for name, value in fields.items() if value is not None}, kind)
    except msgspec.ValidationError as problem:
        raise Refused(Problem(400, str(problem), code="invalid_type")) from None


def check_text(name: str, text: str | None, longest: int) -> None:
    if text is None:
        raise missing(name)
    if not text:
        said = "empty string. Expected a string with minimum length 1, but got an empty string instead."
        raise wrong(name, said, "empty_string")
    if len(text) > longest:
        said = f"string too long. Expected a string with maximum length {longest}, but got {len(text)} instead."
        raise wrong(name, said, "string_above_max_length")


def check_range(name: str, number: float, least: float, most: float) -> None:
    noun = "integer" if isinstance(number, int) else "decimal"
    if number < least:
        said = f"{noun} below minimum value. Expected a value >= {least}, but got {number} instead."
        raise wrong(name, said, f"{noun}_below_min_value")
    if number > most:
        said = f"{noun} above maximum value. Expected a value <= {most}, but got {number} instead."
        raise wrong(name, said, f"{noun}_above_max_value")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    known = tuple(choices)
    if value not in known:
        listed = ", ".join(f"'{choice}'" for choice in known)
        message = f"Invalid value: '{value}'. Supported values are: {listed}."
        raise Refused(Problem(400, message, code="invalid_value", param=name))


def missing(name: str) -> Refused:
    message = f"Missing required parameter: '{name}'."
    return Refused(Problem(400, message, code="missing_required_parameter", param=name))


def wrong(name: str, said: str, code: str) -> Refused:
    return Refused(Problem(400, f"Invalid '{name}': {said}", code=code, param=name))
