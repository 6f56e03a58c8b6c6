"""Large JSON bodies: looked through piece by piece, without building what they say.

Rules of this file
1. What stands outside of strings (brackets, commas, numbers, spaces) is bounded. It is what makes a body slow to
   read: a text or a picture of 30 MB takes 15 ms, as many bytes of empty arrays take four seconds.
2. A number that is out of range is refused, as it is in a small body: one reader takes 1e999 for infinity, another
   for nonsense.
3. No step takes more than some milliseconds: where this runs in a thread, others have their turn in between.
"""

import math
import re
from collections.abc import Iterator

from tollkeeper.core.errors import MalformedBody
from tollkeeper.core.steps import between_steps

# Pretty-printed, so much is some fifty thousand messages.
OUTSIDE_BYTES_MOST = 8 * 1024 * 1024
COMMAS_MOST = 400_000
# The largest number that everybody can read has 309 digits.
DIGITS_MOST = 309
LARGE_EXPONENTS_MOST = 10_000
SLICE_BYTES = 512 * 1024

TOO_MANY = (
    f"The request body has too many values: more than {COMMAS_MOST:,}, or more than {OUTSIDE_BYTES_MOST:,} bytes "
    "outside of texts. Send fewer, and without spaces between them."
)
OUT_OF_RANGE = "The request body has a number that is out of range. Correct it before sending it again."

_DIGITS_TO_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_TOO_LONG = b"0" * (DIGITS_MOST + 1)
# How numbers look that may be out of range, each digit written as 0.
_LARGE_EXPONENTS = (b"e000", b"E000", b"e+000", b"E+000")
_EXPONENT = re.compile(rb"[eE]\+?[0-9]+")


def look_through(body: bytes) -> None:
    """Raise MalformedBody. What is not JSON at all may pass: whoever reads it finds out."""
    outside = bytearray()
    for piece in _outside_of_strings(body):
        between_steps()
        outside += piece
        if len(outside) > OUTSIDE_BYTES_MOST:
            raise MalformedBody(TOO_MANY)
    zeros = outside.translate(_DIGITS_TO_ZEROS)
    if outside.count(b",") > COMMAS_MOST or sum(map(zeros.count, _LARGE_EXPONENTS)) > LARGE_EXPONENTS_MOST:
        raise MalformedBody(TOO_MANY)
    if _has_long_number(zeros) or any(math.isinf(_number_at(outside, at)) for at in _large_exponents(zeros)):
        raise MalformedBody(OUT_OF_RANGE)


def _outside_of_strings(body: bytes) -> Iterator[bytes]:
    """Strings have something between them that is no number, so what is left can be put together without them."""
    inside, carried = False, b""
    for start in range(0, len(body), SLICE_BYTES):
        piece = carried + body[start : start + SLICE_BYTES]
        if b"\\" in piece:
            # Pairs of backslashes go first: a quote after an even number of them ends its string.
            piece = piece.replace(b"\\\\", b"")
            carried = b"\\" if piece.endswith(b"\\") else b""
            piece = piece.removesuffix(b"\\").replace(b'\\"', b"")
        else:
            carried = b""
        parts = piece.split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0


def _has_long_number(zeros: bytearray) -> bool:
    starts = range(0, len(zeros), SLICE_BYTES)
    return any(zeros.find(_TOO_LONG, start, start + SLICE_BYTES + DIGITS_MOST) >= 0 for start in starts)


def _large_exponents(zeros: bytearray) -> Iterator[int]:
    """Where numbers have an exponent of three digits or more."""
    for mark in _LARGE_EXPONENTS:
        at = zeros.find(mark)
        while at >= 0:
            yield at
            at = zeros.find(mark, at + 1)


def _number_at(outside: bytearray, exponent_at: int) -> float:
    """The number whose exponent begins there. What has no digits before it is none, and the reader's affair."""
    before = outside[max(0, exponent_at - 2 * DIGITS_MOST) : exponent_at]
    digits = before[len(before.rstrip(b"0123456789.")) :]
    exponent = _EXPONENT.match(outside, exponent_at)
    return float(digits + exponent[0]) if exponent and digits.strip(b".") else 0.0
