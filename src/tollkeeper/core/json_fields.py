"""The parameters of a JSON body: what every reader of an order shares.

Rules of this file
1. What is priced is what is sent. A body that two readers could read differently (a parameter that stands twice, or in
   another case, a number out of range, text that is not UTF-8) is refused.
2. What a body costs to read is bounded by its size and by how many strings it has, not by the caller's imagination.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

import msgspec
from msgspec import Raw

from tollkeeper.core.errors import InvalidParameter, MalformedBody, UnsupportedParameter
from tollkeeper.core.large_json import look_through

NAMES_MOST = 256
# Of strings, in the whole body: some fifty thousand messages or parts of messages.
QUOTES_MOST = 400_000
NOT_KNOWN = "only what is known here is passed on, written as the protocol has it; leave it out"
# A larger body is looked through instead: to build everything that it says could take seconds.
FULLY_READ_BYTES_MOST = 256 * 1024

# How msgspec says where in a body something is wrong.
_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)` - at `", re.DOTALL)
_NAME = re.compile(rb'\s*[{,]\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*:\s*')

Asked = TypeVar("Asked")

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_fields(body: bytes, priced: Collection[str]) -> dict[str, Raw]:
    """Every parameter, as bytes. `priced`: those whose names must be written as the protocol has them."""
    # Those that are escaped are searched for only where there are many: that takes long.
    if (quotes := body.count(b'"')) > QUOTES_MOST and quotes - body.count(b'\\"') > QUOTES_MOST:
        raise MalformedBody("The request body has too many messages or parts. Send fewer.")
    try:
        body.isascii() or str(body, "utf-8")
        fields = _large_fields(body) if len(body) > FULLY_READ_BYTES_MOST else _small_fields(body)
    except NOT_READ:
        raise MalformedBody from None
    if len(fields) > NAMES_MOST:
        raise MalformedBody("The request body has too many parameters. Send those that the protocol knows.")
    if not _each_stands_once(body, fields):
        raise MalformedBody("A parameter stands twice in the request body. Send each once.")
    if any(name not in priced and name.casefold() in priced for name in fields):
        raise MalformedBody(f"Parameters are written in small letters: {', '.join(priced)}.")
    return fields


def _small_fields(body: bytes) -> dict[str, Raw]:
    fields = decode_fields(body)
    for value in fields.values():
        # To the last number: what stays raw is not looked at closely.
        decode(value)
    return fields


def _large_fields(body: bytes) -> dict[str, Raw]:
    look_through(body)
    return decode_fields(body)


def read_asked(body: bytes, decode_asked: Callable[[bytes], Asked], wanted: Callable[[str], str]) -> Asked:
    """What is priced of a body. `wanted`: what to send instead, by the place of what is wrong."""
    try:
        return decode_asked(body)
    except msgspec.ValidationError as problem:
        place = _PLACE.search(str(problem))
        if place is None:
            raise MalformedBody from None
        if unknown := _UNKNOWN.match(str(problem)):
            raise UnsupportedParameter(f"{place['place']}.{unknown['name']}", NOT_KNOWN) from None
        raise InvalidParameter(place["place"], wanted(place["place"])) from None
    except NOT_READ:
        raise MalformedBody from None


def _each_stands_once(body: bytes, fields: Mapping[str, Raw]) -> bool:
    """Whether the values follow each other in the body with only their names between them: of a name that stands
    twice, the reader has kept one value only."""
    if len(body) == 1 + sum(len(name) + len(memoryview(value)) + 4 for name, value in fields.items()):
        # Written without spaces, as SDKs do: no byte is left in which anything could stand twice.
        return True
    at = 0
    for value in map(bytes, fields.values()):
        name = _NAME.match(body, at)
        if name is None or not body.startswith(value, name.end()):
            return False
        at = name.end() + len(value)
    return body[at:].strip().removeprefix(b"{").strip() == b"}"
