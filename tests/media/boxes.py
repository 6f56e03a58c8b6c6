"""The boxes of MP4 files, and changes in them."""

import struct
from collections.abc import Callable, Iterator, Sequence

TRAK = ("moov", "trak")
TABLES = (*TRAK, "mdia", "minf", "stbl")
STCO = (*TABLES, "stco")
STSC = (*TABLES, "stsc")
STSD = (*TABLES, "stsd")
STSZ = (*TABLES, "stsz")
STTS = (*TABLES, "stts")


def box(kind: str, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind.encode()) + content


def edited(content: bytes, path: Sequence[str], change: Callable[[bytes], bytes]) -> bytes:
    """The file with the content of one box changed, whose size may change with it."""

    def changed(kind: str, inside: bytes) -> bytes:
        if kind != path[0]:
            return inside
        return edited(inside, path[1:], change) if len(path) > 1 else change(inside)

    return b"".join(box(kind, changed(kind, inside)) for kind, inside in boxes(content))


def boxes(content: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(content):
        size, kind = struct.unpack_from(">I4s", content, at)
        yield kind.decode("latin-1"), content[at + 8 : at + size]
        at += size


def with_number(at: int, number: int) -> Callable[[bytes], bytes]:
    """A box with one of its numbers of 32 bits changed."""
    return lambda content: content[:at] + struct.pack(">I", number) + content[at + 4 :]
