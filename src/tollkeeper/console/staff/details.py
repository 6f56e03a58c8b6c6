"""The details of an act on record, in words."""

import re
from collections.abc import Collection, Mapping
from typing import Any

EMPTY: tuple[object, ...] = (None, "", [], {})
# As the database writes it, whatever stands behind the seconds.
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def details_of(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values. That there is none may be what was done."""
    return [(name.replace("_", " "), text_of(value)) for name, value in detail.items()]


def details_but(left_out: Collection[str], detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same without what is empty, and without those that are told elsewhere."""
    return details_of({name: value for name, value in detail.items() if name not in left_out and value not in EMPTY})


def text_of(value: Any) -> str:
    if value in EMPTY:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {text_of(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(text_of, value))
    moment = MOMENT.fullmatch(str(value))
    return str(value) if moment is None else f"{moment[1]} {moment[2]}"
