"""A value that fits a JSON schema: what a tool is called with, and what is said where JSON is wanted.

Rules of this file
1. The same schema always gets the same value, whatever was asked: it fits, and it means nothing.
2. Types, const, enum, anyOf, oneOf, allOf, $ref, properties, items, lengths, bounds and usual formats are kept to.
   `pattern`, `not`, `if`, and words that are not here are not: for them the value may not fit.
3. A schema that leads into itself ends, with what may be left out left out; none becomes more than VALUES_MOST values.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

DEPTH_MOST = 8
VALUES_MOST = 2_000
ITEMS_MOST = 100
TEXT = "river stone"
LONGEST_TEXT = 10_000
LARGEST = 10**15
LEAST_UNIT = 1e-9

FORMATS = {
    "date": "2026-01-02",
    "date-time": "2026-01-02T03:04:05Z",
    "duration": "PT1M",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "03:04:05Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
WORDS_OF_TYPES = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}

Schema = Mapping[str, Any]


def sample(schema: Schema) -> object:
    """A value that fits it."""
    return _Sampler(schema).value(schema, 0)


class _Sampler:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._values = 0

    def value(self, given: object, depth: int) -> object:
        self._values += 1
        if depth > 2 * DEPTH_MOST or self._values > 2 * VALUES_MOST:
            return None
        schema = self._resolved(given, depth)
        fixed = [schema["const"]] if "const" in schema else _list(schema, "enum")
        if fixed:
            return fixed[0]
        choices = _list(schema, "anyOf") or _list(schema, "oneOf")
        if choices:
            beside = {name: word for name, word in schema.items() if name not in ("anyOf", "oneOf")}
            return self.value(_merged(beside, self._chosen(choices, depth)), depth + 1)
        return self._plain(schema, depth)

    def _plain(self, schema: Schema, depth: int) -> object:
        """By its type alone."""
        made: dict[str, Callable[[], object]] = {
            "object": lambda: self._object(schema, depth),
            "array": lambda: self._array(schema, depth),
            "string": lambda: _text(schema),
            "integer": lambda: math.ceil(_number(schema, 3, step=1)),
            "number": lambda: _number(schema, 1.5, step=0.5),
            "boolean": lambda: True,
        }
        return made.get(_type_of(schema, is_deep=self._is_deep(depth)), lambda: None)()

    def _is_deep(self, depth: int) -> bool:
        return depth > DEPTH_MOST or self._values > VALUES_MOST

    def _resolved(self, given: object, depth: int) -> dict[str, Any]:
        """With what it refers to, and all of allOf, in it."""
        schema = dict(given) if isinstance(given, Mapping) else {}
        for _ in range(DEPTH_MOST):
            if isinstance(reference := schema.pop("$ref", None), str):
                schema = _merged(self._found(reference), schema)
        for part in _list(schema, "allOf"):
            self._values += 1
            if not self._is_deep(depth):
                schema = _merged(schema, self._resolved(part, depth + 1))
        return schema

    def _found(self, reference: str) -> Schema:
        """Within this schema; others lead nowhere."""
        found: Any = self._root if reference.startswith("#") else {}
        for step in reference.lstrip("#").strip("/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name, {}) if isinstance(found, Mapping) and name else found
        return found if isinstance(found, Mapping) else {}

    def _chosen(self, choices: list[Any], depth: int) -> Schema:
        """The first, and in the depth null where that will do."""
        schemas = [choice for choice in choices if isinstance(choice, Mapping)] or [{}]
        nothing = next((each for each in schemas if each.get("type") == "null"), None)
        something = next((each for each in schemas if each.get("type") != "null"), schemas[0])
        return nothing if nothing is not None and self._is_deep(depth) else something

    def _object(self, schema: Schema, depth: int) -> dict[str, object]:
        properties = schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        required = [name for name in _list(schema, "required") if isinstance(name, str)]
        names = required if self._is_deep(depth) else [*known, *(name for name in required if name not in known)]
        return {name: self.value(known.get(name, {"type": "string"}), depth + 1) for name in names}

    def _array(self, schema: Schema, depth: int) -> list[object]:
        first = _list(schema, "prefixItems")
        least = max(_whole(schema, "minItems", 0), len(first))
        wanted = least if self._is_deep(depth) or "items" not in schema else max(least, 1)
        size = min(wanted, _whole(schema, "maxItems", ITEMS_MOST), ITEMS_MOST)
        kinds = [*first, *[schema.get("items", {"type": "string"})] * max(size - len(first), 0)]
        return [self.value(kind, depth + 1) for kind in kinds[:size]]


def _list(schema: Schema, name: str) -> list[Any]:
    found = schema.get(name)
    return found if isinstance(found, list) else []


def _merged(one: Schema, other: Schema) -> dict[str, Any]:
    """What both say; of properties and required names, all."""
    both = {**one, **other}
    if isinstance(one.get("properties"), Mapping) and isinstance(other.get("properties"), Mapping):
        both["properties"] = {**one["properties"], **other["properties"]}
    if required := [*_list(one, "required"), *_list(other, "required")]:
        both["required"] = list(dict.fromkeys(name for name in required if isinstance(name, str)))
    both.pop("allOf", None)
    return both


def _type_of(schema: Schema, *, is_deep: bool) -> str:
    """The first that is not null, in the depth null; where none is named, that of the words that are."""
    named = schema.get("type")
    # One vendor writes its types in capitals.
    types = [str(each).lower() for each in (named if isinstance(named, list) else [named]) if each]
    if is_deep and "null" in types:
        return "null"
    told = next((each for each in types if each != "null"), types[0] if types else "")
    return told or next((kind for kind, words in WORDS_OF_TYPES.items() if schema.keys() & set(words)), "string")


def _text(schema: Schema) -> str:
    least = min(_whole(schema, "minLength", 0), LONGEST_TEXT)
    text = FORMATS.get(str(schema.get("format")), TEXT)
    text += "".join(TEXT for _ in range((least - len(text)) // len(TEXT) + 1)) if len(text) < least else ""
    return text[: max(_whole(schema, "maxLength", len(text)), 0)]


def _number(schema: Schema, usual: float, step: float) -> float:
    """The usual one, moved into the bounds."""
    given = {
        name: float(value)
        for name in WORDS_OF_TYPES["number"]
        if isinstance(value := schema.get(name), int | float) and abs(value) <= LARGEST
    }
    least = max(given.get("minimum", -math.inf), given.get("exclusiveMinimum", -math.inf))
    most = min(given.get("maximum", math.inf), given.get("exclusiveMaximum", math.inf))
    number = usual
    if number < least or number == given.get("exclusiveMinimum"):
        number = least + (step if least == given.get("exclusiveMinimum") else 0)
    if number > most or number == given.get("exclusiveMaximum"):
        number = most - (step if most == given.get("exclusiveMaximum") else 0)
    unit = given.get("multipleOf", 0)
    return math.ceil(number / unit) * unit if unit > LEAST_UNIT else number


def _whole(schema: Schema, name: str, otherwise: int) -> int:
    found = schema.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else otherwise
