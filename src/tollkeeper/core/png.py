"""PNG pictures of operators: bounded, and without anything but the pixels.

Only PNG is taken. An SVG is a document: it can hold scripts, styles, links and references to other addresses, and what
makes one harmless differs between browsers. A PNG is pixels.

Rules of this file
1. Every chunk must be whole, with its checksum right, and the last one must be the end of the file.
2. Only chunks that draw are kept: texts, times and data of cameras are left out.
"""

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEPT = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"sRGB"})
BYTES_MOST = 48 * 1024
PIXELS_MOST = 1_024


class BadPicture(ValueError):
    """A picture that is not taken; the message says why."""


def drawn_only(png: bytes) -> bytes:
    """The same picture, with the chunks that draw it. Raise BadPicture."""
    if len(png) > BYTES_MOST:
        raise BadPicture(f"The logo has {len(png):,} bytes; {BYTES_MOST:,} are the most. Nothing was done.")
    if not png.startswith(SIGNATURE):
        raise BadPicture("The logo must be a PNG picture. Nothing was done.")
    chunks = list(_chunks(png))
    if chunks[0][0] != b"IHDR" or chunks[-1][0] != b"IEND" or not any(kind == b"IDAT" for kind, _ in chunks):
        raise _broken()
    width, height = struct.unpack(">II", chunks[0][1][:8].ljust(8, b"\0"))
    if not (1 <= width <= PIXELS_MOST and 1 <= height <= PIXELS_MOST):
        raise BadPicture(f"The logo may be {PIXELS_MOST} pixels wide and high at most. Nothing was done.")
    return SIGNATURE + b"".join(_written(kind, data) for kind, data in chunks if kind in KEPT)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while True:
        if at + 12 > len(png):
            raise _broken()
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        end = at + 12 + size
        if end > len(png) or png[end - 4 : end] != zlib.crc32(kind + data).to_bytes(4):
            raise _broken()
        yield kind, data
        if kind == b"IEND":
            if end != len(png):
                raise _broken()
            return
        at = end


def _written(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def _broken() -> BadPicture:
    return BadPicture("The logo is not a whole PNG picture. Save it anew as PNG. Nothing was done.")
