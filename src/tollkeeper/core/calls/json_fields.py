"""The parameters of a JSON body: what every reader of an order shares.

Rules of this file
1. What is priced is what is sent. A body that two readers could read differently (a member of any object in it that
   stands twice, a parameter in another case, a number out of range, text that is not UTF-8) is refused.
2. What a body costs to read is bounded by its size and by how many strings it has, not by the caller's imagination.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.json_numbers import read_float
from tollkeeper.core.calls.large_json import look_through
from tollkeeper.core.calls.malformed import malformed
from tollkeeper.core.errors import PARAM_CHARACTERS_MOST, InvalidParameter, MalformedBody, UnsupportedParameter
from tollkeeper.core.steps import between_steps

NAMES_MOST = 256
# Of strings, in the whole body: some fifty thousand messages or parts of messages.
QUOTES_MOST = 400_000
NOT_KNOWN = "only what is known here is passed on, written as the protocol has it; leave it out"
# A larger body is looked through instead: to build everything that it says could take seconds.
FULLY_READ_BYTES_MOST = 256 * 1024
# How much of a large array is read in one go, where its values are alike.
SHARE_BYTES = 64 * 1024
BEGINNING_BYTES = 256
# How many arrays and objects in each other are read member by member. Each costs another reading, so that it must not
# be the caller who says how many; a picture in a message stands in five.
LEVELS_PARTED = 6

# How msgspec says where in a body something is wrong.
_PLACE = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)` - at `", re.DOTALL)

Fields = TypeVar("Fields")

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(float_hook=read_float).decode
decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
decode_array: Callable[[Raw], list[Raw]] = msgspec.json.Decoder(list[Raw]).decode
NOT_READ = (msgspec.MsgspecError, UnicodeError, RecursionError)


def read_fields(body: bytes, priced: Collection[str]) -> dict[str, Raw]:
    """Every parameter, as bytes. `priced`: those whose names must be written as the protocol has them."""
    if len(body) > QUOTES_MOST and _has_too_many_strings(body):
        raise MalformedBody("The request body has too many messages or parts. Send fewer.")
    try:
        body.isascii() or str(body, "utf-8")
        if len(body) > FULLY_READ_BYTES_MOST:
            look_through(body)
        fields = decode_fields(body)
        # To the last number: what stays raw is not looked at closely.
        says_each_once = _says_each_once(body, fields)
    except NOT_READ:
        raise malformed(body) from None
    if len(fields) > NAMES_MOST:
        raise MalformedBody("The request body has too many parameters. Send those that the protocol knows.")
    if not says_each_once:
        raise MalformedBody("A member of an object stands twice in the request body. Send each once.")
    for name in fields:
        if name not in priced and name.casefold() in priced:
            shown = name[:PARAM_CHARACTERS_MOST]
            raise MalformedBody(f"Parameters are written in small letters: {', '.join(priced)}.", param=shown)
    return fields


def _has_too_many_strings(body: bytes) -> bool:
    quotes = body.count(b'"')
    # Those that are escaped are searched for only where there are many: that takes long.
    return quotes > QUOTES_MOST and quotes - body.count(b'\\"') > QUOTES_MOST


def _says_each_once(body: bytes, fields: Mapping[str, Raw]) -> bool:
    """Whether no member of an object stands twice in a body."""
    if len(body) > FULLY_READ_BYTES_MOST:
        between_steps()
        read_quotes = sum(_quotes_in_member(name, value) for name, value in fields.items())
        between_steps()
    elif (written := encode(decode(body))) == body:
        # As most programs write it.
        return True
    else:
        read_quotes = written.count(b'"')
    return read_quotes == body.count(b'"') + _escaped_by_number(body)


def _quotes_in(value: Raw, levels: int = LEVELS_PARTED) -> int:
    """The quotes of a value that was read and written again. Of a member that stands twice, one name and value are
    lost, and their quotes with them. What is large is read in shares, so that no step takes long."""
    between_steps()
    written = memoryview(value)
    if len(written) <= FULLY_READ_BYTES_MOST:
        return encode(decode(value)).count(b'"')
    mark = bytes(written[:1])
    if mark == b'"':
        # Whoever told it apart has read it to its end. To build it and write it again would take long.
        text = bytes(written)
        return text.count(b'"') + _escaped_by_number(text)
    if levels and mark == b"{":
        return sum(_quotes_in_member(name, member, levels - 1) for name, member in decode_fields(value).items())
    if levels and mark == b"[":
        return _quotes_in_array(value, levels - 1)
    return encode(decode(value)).count(b'"')


def _quotes_in_member(name: str, value: Raw, levels: int = LEVELS_PARTED) -> int:
    return encode(name).count(b'"') + _quotes_in(value, levels)


def _quotes_in_array(value: Raw, levels: int) -> int:
    written = memoryview(value)
    if _is_of_plain_numbers(written):
        decode(value)
        return 0
    each = decode_array(value)
    share = max(1, len(each) * SHARE_BYTES // len(written))
    return sum(_quotes_in_share(each[at : at + share], levels) for at in range(0, len(each), share))


def _is_of_plain_numbers(array: memoryview) -> bool:
    """Whether nothing in it is a text, an array or an object. Numbers are quicker to read than to tell apart."""
    # Most arrays say at their beginning that they are of something else.
    parts = (bytes(part) for part in (array[1:BEGINNING_BYTES], array[BEGINNING_BYTES:]))
    return not any(mark in part for part in parts for mark in (b'"', b"[", b"{"))


def _quotes_in_share(values: list[Raw], levels: int) -> int:
    """The quotes of some values of an array: small ones are read together, which is quicker than one by one."""
    if len(values) == 1:
        return _quotes_in(values[0], levels)
    together = Raw(b"[%b]" % b",".join(values))
    if len(memoryview(together)) <= FULLY_READ_BYTES_MOST:
        return _quotes_in(together)
    return sum(_quotes_in(value, levels) for value in values)


def _escaped_by_number(body: bytes) -> int:
    """Quotes that are written as some encoders do, by their number; here they are written with a backslash."""
    if rb"\u0022" not in body:
        return 0
    return body.replace(rb"\\", b"").count(rb"\u0022")


def read_asked(body: bytes, decode_asked: Callable[[bytes], Fields], wanted: Callable[[str], str]) -> Fields:
    """What is priced of a body. `wanted`: what to send instead, by the place of what is wrong."""
    if len(body) > FULLY_READ_BYTES_MOST:
        between_steps()
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
