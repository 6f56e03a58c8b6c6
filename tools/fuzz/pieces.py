"""Bytes as a network brings them: cut anywhere, but for the same bytes always in the same places."""

import zlib
from collections.abc import Iterator
from random import Random

SINGLY_BYTES_MOST = 128
CUTS_MOST = 8
# What a client of HTTP hands over at once.
PIECE_BYTES = 64 * 1024


def ways_to_cut(data: bytes) -> Iterator[list[bytes]]:
    """Some ways: byte by byte where there are few, and at a few places by chance."""
    if len(data) <= SINGLY_BYTES_MOST:
        yield [data[at : at + 1] for at in range(len(data))]
    chance = Random(zlib.crc32(data))
    for _ in range(2):
        cuts = sorted(chance.randint(0, len(data)) for _ in range(chance.randint(1, CUTS_MOST)))
        yield [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def as_read(data: bytes) -> list[bytes]:
    return [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)]
