"""The scanner: finds a marker in bytes, whatever it was encoded as.

Rules of this file
1. A marker has lower-case letters and digits alone. So raw text finds it in JSON, URLs, CSV and SQL, too; where every
   letter is escaped, the escaped form is looked for.
2. Letters are compared without case, except in Base64, whose three alignments are looked for as they are.
3. What looks like the beginning of gzip or zlib is unpacked, as far as it can be, and scanned likewise.
"""

import base64
import re
import zlib
from collections.abc import Callable, Iterator, Mapping

import msgspec

from proofs.privacy.canaries import NUMBER_CHARACTERS

# Either may begin anywhere in a file. The second byte of zlib says how hard was tried.
_PACKED = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
FIRST_BYTES = 256
UNPACKED_BYTES_MOST = 64 * 1024 * 1024
CONTEXT_BYTES = 40

# How a text may be written, each letter in the same way. Base64 depends on what stands before it: see `_base64`.
LETTER_BY_LETTER: Mapping[str, Callable[[str], bytes]] = {
    "raw": str.encode,
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "utf-32-le": lambda text: text.encode("utf-32-le"),
    "hex": lambda text: text.encode().hex().encode(),
    "hex, spaced": lambda text: text.encode().hex(" ").encode(),
    "url": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()).encode(),
    "json": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text).encode(),
    "backslash": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()).encode(),
    "octal": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()).encode(),
    "entities": lambda text: "".join(f"&#{ord(letter)};" for letter in text).encode(),
}
ALIGNMENTS = range(3)
PACKED = ("gzip", "zlib")


class Find(msgspec.Struct, frozen=True):
    """One place where a marker stands."""

    encoding: str
    at: int
    # What follows the marker: its number, if it is there in letters.
    number: str
    context: bytes


def encoded(text: str) -> Iterator[tuple[str, bytes]]:
    """The text in every way in which it would be found: for controls."""
    for name, encode in LETTER_BY_LETTER.items():
        yield name, encode(text)
    for alignment in ALIGNMENTS:
        yield f"base64 {alignment}", base64.b64encode(b"." * alignment + text.encode())
    yield "gzip", zlib.compress(text.encode(), wbits=zlib.MAX_WBITS | 16)
    yield "zlib", zlib.compress(text.encode())


class Scanner:
    """Looks for one marker."""

    def __init__(self, marker: str) -> None:
        self._anycase = {name: encode(marker) for name, encode in LETTER_BY_LETTER.items()}
        self._base64 = {f"base64 {alignment}": _base64(marker, alignment) for alignment in ALIGNMENTS}
        self._marker = marker

    def finds(self, data: bytes) -> Iterator[Find]:
        """Every place, also in what is packed; each text is found in one encoding only."""
        yield from self._plain(data, "")
        for begins in _PACKED.finditer(data):
            unpacked = _unpacked(data, begins.start())
            how = "gzip" if begins[0].startswith(b"\x1f") else "zlib"
            yield from self._plain(unpacked, how, begins.start())

    def _plain(self, data: bytes, packed: str, packed_at: int | None = None) -> Iterator[Find]:
        lowered = data.lower()
        kinds = ((lowered, self._anycase), (data, self._base64))
        for text, patterns in kinds:
            for encoding, pattern in patterns.items():
                at = text.find(pattern)
                while at >= 0:
                    after = at + len(pattern)
                    number = (
                        lowered[after : after + NUMBER_CHARACTERS].decode("ascii", "replace")
                        if encoding == "raw"
                        else ""
                    )
                    context = data[max(0, at - CONTEXT_BYTES) : after + CONTEXT_BYTES]
                    yield Find(packed or encoding, at if packed_at is None else packed_at, number, context)
                    at = text.find(pattern, after)


def _base64(marker: str, alignment: int) -> bytes:
    """What is the same of it whatever stands before and behind: whole groups of six bits."""
    text = base64.b64encode(b"\0" * alignment + marker.encode()).rstrip(b"=")
    whole = (alignment + len(marker)) * 8 // 6
    return text[-(-alignment * 8 // 6) : whole]


def _unpacked(data: bytes, at: int) -> bytes:
    """As much as can be unpacked from there; most of what looks packed is not, and is soon known not to be."""
    unpacker = zlib.decompressobj(GZIP_OR_ZLIB)
    found = []
    try:
        found.append(unpacker.decompress(data[at : at + FIRST_BYTES]))
        if not unpacker.eof:
            found.append(unpacker.decompress(data[at + FIRST_BYTES :], UNPACKED_BYTES_MOST))
    except zlib.error:
        pass
    return b"".join(found)
