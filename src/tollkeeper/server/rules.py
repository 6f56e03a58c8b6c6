"""What a request must be like: strict HTTP/1.1, so that no two parsers can read one in two ways (request smuggling).

Rules of this file
1. A head: a method, a path, HTTP/1.0 or 1.1; lines end with CR LF; no line is folded; no control characters.
2. One Host, or none in HTTP/1.0, which may come without any header. At most one Content-Length, of digits; or one
   Transfer-Encoding, which is "chunked" alone; never both.
3. A chunk: one to eight hexadecimal digits, without extensions; no trailers.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

LENGTH_DIGITS_MOST = 15
HOSTS_REMEMBERED = 256
HEAD_END = b"\r\n\r\n"

# A request line without fragment or backslash, then headers. Each class ends where the next begins, so time is linear.
HEAD = re.compile(
    rb"([A-Z]{1,20}) (/[!\"$-\[\]-~]*) HTTP/1\.([01])\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*)\r\n"
)
HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
# Headers that say where a request ends, and for whom it is: none of them twice.
FRAMING_NAMES = frozenset({b"host", b"content-length", b"transfer-encoding"})
# What no head can become part of: control characters, LF without CR, CR without LF.
TORN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?=[^\n])")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
CHUNK_LINE_BEGUN = re.compile(rb"[0-9A-Fa-f]{1,8}\r?")


class Malformed(Exception):
    """A rule of this file is broken."""


def by_name(headers: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The headers of a request, names in lower case."""
    found = dict(headers)
    if len(found) != len(headers):
        framing = [name for name, _ in headers if name in FRAMING_NAMES]
        if len(framing) != len(set(framing)):
            raise Malformed
    return found


def body_bytes(version: bytes, found: Mapping[bytes, bytes]) -> int | None:
    """How long the body is after a head with these headers; None where it comes in chunks. `version`: what follows
    "HTTP/1."; "0" is asked by balancers who know no host."""
    host = found.get(b"host")
    if version == b"1" if host is None else not is_host(host):
        raise Malformed
    length, coding = found.get(b"content-length"), found.get(b"transfer-encoding")
    if coding is not None:
        if coding.lower() != b"chunked" or version == b"0" or length is not None:
            raise Malformed
        return None
    if length is None:
        return 0
    if not length.isdigit() or len(length) > LENGTH_DIGITS_MOST:
        raise Malformed
    return int(length)


@lru_cache(HOSTS_REMEMBERED)
def is_host(host: bytes) -> bool:
    return HOST.fullmatch(host) is not None
