"""Values that fit a JSON schema."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper_simulator.samples import VALUES_MOST, sample

LINKED: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["name", "next"],
        }
    },
}
# Each level twice as wide as the one before.
WIDE: dict[str, Any] = {
    "$ref": "#/$defs/a",
    "$defs": {"a": {"type": "object", "properties": {name: {"$ref": "#/$defs/a"} for name in ("left", "right")}}},
}
FITTING = {
    "an object": (
        {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
        {"a": "river stone", "b": "river stone"},
    ),
    "a constant": ({"const": [1, None]}, [1, None]),
    "one of several values": ({"type": "string", "enum": ["red", "blue"]}, "red"),
    "types, null among them": ({"type": ["null", "integer"]}, 3),
    "a type in capitals": ({"type": "NUMBER"}, 1.5),
    "a choice": ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
    "all of several": (
        {"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]},
        {"a": 1, "b": 2},
    ),
    "a list": ({"type": "array", "items": {"type": "integer", "minimum": 7}}, [7]),
    "a list of at least three": ({"type": "array", "items": {"type": "boolean"}, "minItems": 3}, [True] * 3),
    "a list of at most none": ({"type": "array", "items": {}, "maxItems": 0}, []),
    "a pair": ({"prefixItems": [{"type": "integer"}, {"type": "string"}]}, [3, "river stone"]),
    "a date": ({"type": "string", "format": "date"}, "2026-01-02"),
    "a short text": ({"type": "string", "maxLength": 5}, "river"),
    "a long text": ({"type": "string", "minLength": 12}, "river stoneriver stone"),
    "a number below": ({"type": "number", "exclusiveMaximum": 0}, -0.5),
    "a whole number above": ({"type": "integer", "exclusiveMinimum": 3}, 4),
    "a multiple": ({"type": "integer", "multipleOf": 10}, 10),
    "anything": ({}, "river stone"),
    "a reference that leads nowhere": ({"$ref": "https://example.com/other.json"}, "river stone"),
}


@pytest.mark.parametrize(("schema", "value"), FITTING.values(), ids=FITTING)
def test_it_fits(schema: dict[str, Any], value: object) -> None:
    assert sample(schema) == value


def test_a_schema_that_leads_into_itself_ends() -> None:
    depth, node = 0, sample(LINKED)
    while node is not None:
        assert isinstance(node, dict)
        assert node["name"] == "river stone"
        depth, node = depth + 1, node["next"]
    assert 1 < depth < 20


def test_no_schema_becomes_large() -> None:
    assert len(msgspec.json.encode(sample(WIDE))) < VALUES_MOST * 100


words = st.sampled_from([
    *("type", "properties", "items", "anyOf", "allOf", "$ref", "required", "enum", "minimum", "maxLength", "minItems"),
    *("multipleOf", "exclusiveMinimum", "prefixItems", "maxItems", "minLength", "oneOf", "format", "string", "#"),
])  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words | st.just("#/properties/a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.just("a"), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(words, values, max_size=6))
def test_whatever_a_caller_calls_a_schema_becomes_json(schema: dict[str, Any]) -> None:
    msgspec.json.encode(sample(schema))
