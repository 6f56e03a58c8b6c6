"""Content encodings that nobody asked for, or that are no such thing."""

import zlib
from typing import NamedTuple

from tollkeeper_simulator.hostile.directions import Encoding as Name


class Encoding(NamedTuple):
    """What the header says, and how zlib packs it (None: not at all)."""

    fields: tuple[bytes, ...] = ()
    window_bits: int | None = None


ENCODINGS: dict[Name, Encoding] = {
    "": Encoding(),
    "gzip": Encoding((b"content-encoding: gzip",), 31),
    "deflate": Encoding((b"content-encoding: deflate",), 15),
    "br": Encoding((b"content-encoding: br",)),
    "unknown": Encoding((b"content-encoding: murmur",)),
}


class Packer:
    """Packs a body piece by piece; every piece can be unpacked when it has come."""

    def __init__(self, name: Name) -> None:
        bits = ENCODINGS[name].window_bits
        self._squeeze = None if bits is None else zlib.compressobj(wbits=bits)

    def pack(self, data: bytes) -> bytes:
        if self._squeeze is None:
            return data
        return self._squeeze.compress(data) + self._squeeze.flush(zlib.Z_SYNC_FLUSH)

    def rest(self) -> bytes:
        return b"" if self._squeeze is None else self._squeeze.flush()
