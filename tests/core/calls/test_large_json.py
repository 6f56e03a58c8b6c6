"""Large bodies are looked through as a reader of JSON would, without building what they say."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.core.calls import large_json
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.json_fields import FULLY_READ_BYTES_MOST
from tollkeeper.core.calls.large_json import COMMAS_MOST, OUTSIDE_BYTES_MOST, look_through
from tollkeeper.core.errors import MalformedBody

STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
# So large that nothing around it is read whole.
PADDING = "x" * 8 * FULLY_READ_BYTES_MOST

values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text('ab"\\\n1e,:[ü'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('a"\\'), inner),
)


@pytest.mark.not_quick
@given(value=values, slice_bytes=st.integers(1, 40), ascii_only=st.booleans())
def test_what_is_outside_of_strings_is_found_however_the_body_is_cut(
    value: object, slice_bytes: int, ascii_only: bool
) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_json, "SLICE_BYTES", slice_bytes)
        assert b"".join(large_json._outside_of_strings(body)) == STRING.sub(b"", body)


def a_large_body(value: str, place: str = "x") -> bytes:
    message = (
        f'{{"role":"user","content":"{PADDING}"{f", {chr(34)}y{chr(34)}:{value}" if place == "messages" else ""}}}'
    )
    beside = f', "x": {value}' if place == "x" else ""
    return f'{{"model":"m","messages":[{message}]{beside}}}'.encode()


OUT_OF_RANGE = [
    "1e999",
    "-1e309",
    "[1, 2E+0400]",
    '{"a":1.8e308}',
    "1" + "0" * 309,
    "9" * 5000,
    "NaN",
    "Infinity",
    "-Infinity",
]


@pytest.mark.parametrize("place", ["x", "messages"])
@pytest.mark.parametrize("value", OUT_OF_RANGE, ids=lambda value: value[:20])
def test_a_number_out_of_range_is_refused_in_a_body_of_any_size(value: str, place: str) -> None:
    with pytest.raises(MalformedBody):
        read_chat(a_large_body(value, place))


@pytest.mark.parametrize(
    "value",
    ["1e308", "1.7976931348623157e308", "1e-999", '"1e999"', '"\\\\", "z": "\\"1e999"', "[0.5E-400,true,false]"],
)
def test_numbers_within_range_and_texts_that_look_otherwise_pass(value: str) -> None:
    assert read_chat(a_large_body(value)).model == "m"


@pytest.mark.parametrize(
    "value",
    ["[" + "[]," * COMMAS_MOST + "1]", " " * OUTSIDE_BYTES_MOST + "1", "[" + "1e200," * 10_000 + "1e200]"],
    ids=["values", "spaces", "large exponents"],
)
def test_too_much_outside_of_texts_is_refused(value: str) -> None:
    with pytest.raises(MalformedBody, match="too many values"):
        read_chat(a_large_body(value))


def test_as_much_inside_of_texts_is_taken() -> None:
    look_through(json.dumps({"a": "1,e999 [ " * 1_000_000}).encode())


@pytest.mark.parametrize("broken", [b'{"a":"\\', b'{"a', b"e999", b'"' * 7, b"{.e999}", b'{"a":1e+}'])
def test_what_is_no_json_is_left_to_its_reader(broken: bytes) -> None:
    look_through(broken)


def test_deep_nesting_is_a_malformed_body_at_any_size() -> None:
    with pytest.raises(MalformedBody):
        read_chat(a_large_body("[" * 100_000 + "]" * 100_000))


@pytest.mark.not_quick
def test_a_text_in_many_arrays_costs_little_more_than_in_one() -> None:
    """Each array that is read one by one reads what is in it once more."""
    shallow, deep = (a_large_body("[" * depth + f'"{PADDING}"' + "]" * depth) for depth in (1, 800))
    assert min(_cpu_seconds(deep) for _ in range(3)) < 6 * min(_cpu_seconds(shallow) for _ in range(3))


def _cpu_seconds(body: bytes) -> float:
    begun = time.process_time()
    read_chat(body)
    return time.process_time() - begun


@pytest.mark.parametrize("last", ["1", "-1.5e3", "null", '"a"', '{"a":1}'])
def test_a_large_array_of_numbers_is_read_whatever_its_last_value_is(last: str) -> None:
    assert read_chat(a_large_body(f"[{'1,' * FULLY_READ_BYTES_MOST}{last}]")).model == "m"


@pytest.mark.parametrize("last", ["01", "1.", "-", "tru", '{"a":1,"a":2}', '[{"a":1,"a":2}]'])
def test_a_large_array_of_numbers_is_refused_for_its_last_value(last: str) -> None:
    with pytest.raises(MalformedBody):
        read_chat(a_large_body(f"[{'1,' * FULLY_READ_BYTES_MOST}{last}]"))


@pytest.mark.parametrize("text", ["plain", r"\"", r"\u0022", r"\\u0022", r"\\\"", r"\\", "ü", r"\ud83d\ude00"])
@pytest.mark.parametrize("form", ['"%s"', '{"a":"%s"}', '[{"a":[{"b":{"c":"%s"}}]}]'])
def test_a_large_text_is_taken_as_it_is_written_wherever_it_stands(form: str, text: str) -> None:
    large = text * (FULLY_READ_BYTES_MOST // len(text) + 1)
    assert read_chat(a_large_body(form.replace("%s", large))).model == "m"


@pytest.mark.parametrize("form", ['{"a":"%s","a":1}', '[{"b":{"c":"%s","c":"%s"}}]', '{"a":{"a":1,"a":2},"b":"%s"}'])
def test_a_member_that_stands_twice_beside_a_large_text_is_refused(form: str) -> None:
    with pytest.raises(MalformedBody, match="twice"):
        read_chat(a_large_body(form.replace("%s", "x" * 2 * FULLY_READ_BYTES_MOST)))


@pytest.mark.parametrize("wrong", [r"\x", r"\ud800", r"\u12", "\n", "\x01"])
def test_a_large_text_is_read_to_its_end(wrong: str) -> None:
    with pytest.raises(MalformedBody):
        read_chat(a_large_body('"' + "x" * 2 * FULLY_READ_BYTES_MOST + wrong + '"'))
