"""Numbers that strangers sent are read in their time, wherever they stand."""

import re
import time
from pathlib import Path

import msgspec
import pytest

import tollkeeper
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.json_fields import decode

SOURCE = Path(tollkeeper.__file__).parent
# Rooms that read what customers and providers send.
READING = ("core/calls", "core/dialects", "edge", "providers", "relay")
# Of values of any type: no type is given, and no reader of their numbers.
UNTYPED = re.compile(r"json\.Decoder\(\)|json\.decode\([^,\n]*\)$", re.MULTILINE)
TIMES_AS_LONG_AT_MOST = 20


def seconds_to_read(number: str) -> float:
    """Of a processor, at best, for an order with forty thousand of them."""
    numbers = msgspec.Raw(f"[{','.join([number] * 40_000)}]".encode())
    tool = {"type": "function", "function": {"name": "f", "parameters": {"x": numbers}}}
    body = msgspec.json.encode({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]})
    found = []
    for _ in range(3):
        begun = time.process_time()
        read_chat(body)
        found.append(time.process_time() - begun)
    return min(found)


def test_large_exponents_take_no_longer_than_they_are_worth() -> None:
    assert seconds_to_read("1e300") < TIMES_AS_LONG_AT_MOST * seconds_to_read("1.500")


@pytest.mark.parametrize("number", ["1.5", "-0.0", "1e300", "2.5E-3", "1e-400", "0.1", "123456789.123456789e-5"])
def test_a_float_is_what_it_says(number: str) -> None:
    found = decode(number.encode())
    assert (type(found), found) == (float, float(number))


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_what_no_float_can_be_is_no_number(number: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="out of range"):
        decode(number.encode())


def test_every_reader_of_anything_reads_numbers_so() -> None:
    files = [file for room in READING for file in (SOURCE / room).rglob("*.py")]
    assert len(files) > 100
    assert not [str(file.relative_to(SOURCE)) for file in files if UNTYPED.search(file.read_text())]
