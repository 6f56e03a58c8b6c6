"""Strict HTTP/1.1 framing: what two parsers could read in two ways (request smuggling) is not passed on.

Rules of this file
1. A head: a method, a path, HTTP/1.0 or 1.1; lines end with CR LF; no line is folded; no control characters.
2. One Host. At most one Content-Length, of digits; or one Transfer-Encoding, which is "chunked" alone; never both.
3. A chunk: one to eight hexadecimal digits, without extensions; no trailers.
4. Bytes are passed on unchanged, and a head only when it is whole; one header is added at its end.
5. Of a request that is to be the last, a second one says so, and the gateway ends the connection after its answer.
   What comes behind it is let go: nobody would read it.
6. No IO here.
"""

import re
from collections import deque
from collections.abc import Callable

HEAD_BYTES_MOST = 16 * 1024
LENGTH_DIGITS_MOST = 15
END = b"\r\n\r\n"
HANG_UP = b"Connection: close\r\n"

# A request line without fragment or backslash, then headers. Each class ends where the next begins, so time is linear.
HEAD = re.compile(
    rb"[A-Z]{1,20} /[!\"$-\[\]-~]* HTTP/1\.([01])\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n"
)
FRAMING = re.compile(rb"^(host|content-length|transfer-encoding):([^\r]*)\r", re.IGNORECASE | re.MULTILINE)
HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
# What no head can become part of: control characters, LF without CR, CR without LF.
TORN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?=[^\n])")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
CHUNK_LINE_BEGUN = re.compile(rb"[0-9A-Fa-f]{1,8}\r?")


class Malformed(Exception):
    """A rule of this file is broken."""


class Framing:
    """Follows the requests of one connection, from head to body to head."""

    __slots__ = ("_added", "_held", "_left", "_looked_at", "_next", "_stage", "asked", "is_broken", "next_is_last")

    def __init__(self, added: bytes) -> None:
        """`added`: a header line for the end of every head."""
        self.is_broken = False
        # From now on: the first head that becomes whole is that of the last request.
        self.next_is_last = False
        # Requests passed on whose answers are not over (`AnswerFraming`), each by whether it is for a head alone.
        self.asked: deque[bool] = deque()
        self._added = added
        self._stage: Stage = Framing._head
        # After the body.
        self._next: Stage = Framing._head
        # Bytes that cannot be judged before more come, and how many of them were looked at.
        self._held = b""
        self._looked_at = 0
        self._left = 0

    @property
    def in_head(self) -> bool:
        """Whether a head has begun and is not whole yet."""
        return self._stage is Framing._head and bool(self._held)

    @property
    def is_between(self) -> bool:
        """Whether every request is whole and answered, and no other has begun."""
        return self._stage is Framing._head and not (self._held or self.asked or self.is_broken)

    def feed(self, data: bytes) -> bytes:
        """What may be passed on now. Once a rule is broken, nothing is."""
        if self.is_broken:
            return b""
        data, self._held = self._held + data, b""
        passed: list[bytes] = []
        at = 0
        try:
            while at < len(data):
                after = self._stage(self, data, at, passed)
                if after == at:
                    self._held = data[at:]
                    break
                at = after
        except Malformed:
            self.is_broken = True
        return b"".join(passed)

    # Each stage looks at `data` from `at` on, appends what may pass, and returns where to go on: the same place, where
    # more has to come first.

    def _head(self, data: bytes, at: int, passed: list[bytes]) -> int:
        stop = data.find(END, at + max(0, self._looked_at - len(END)))
        head = data[at:] if stop < 0 else data[at : stop + len(END)]
        if len(head) > HEAD_BYTES_MOST:
            raise Malformed
        if stop < 0:
            if TORN.search(head, max(0, self._looked_at - 1)):
                raise Malformed
            self._looked_at = len(head)
            return at
        self._looked_at = 0
        length = _body_bytes(head)
        if self.next_is_last:
            self._next = Framing._nothing_more
        self._stage = Framing._chunk if length is None else Framing._body if length else self._next
        self._left = length or 0
        self.asked.append(head.startswith(b"HEAD "))
        passed += (head[:-2], self._added, HANG_UP if self.next_is_last else b"", b"\r\n")
        return stop + len(END)

    def _body(self, data: bytes, at: int, passed: list[bytes]) -> int:
        return self._take(data, at, passed, self._next)

    def _chunk(self, data: bytes, at: int, passed: list[bytes]) -> int:
        line = CHUNK_LINE.match(data, at)
        if line is None:
            if CHUNK_LINE_BEGUN.fullmatch(data, at) is None:
                raise Malformed
            return at
        passed.append(line[0])
        self._left = int(line[1], 16)
        self._stage = Framing._piece if self._left else Framing._last_end
        return line.end()

    def _piece(self, data: bytes, at: int, passed: list[bytes]) -> int:
        return self._take(data, at, passed, Framing._piece_end)

    def _piece_end(self, data: bytes, at: int, passed: list[bytes]) -> int:
        return self._line_end(data, at, passed, Framing._chunk)

    def _last_end(self, data: bytes, at: int, passed: list[bytes]) -> int:
        return self._line_end(data, at, passed, self._next)

    def _nothing_more(self, data: bytes, at: int, passed: list[bytes]) -> int:
        return len(data)

    def _take(self, data: bytes, at: int, passed: list[bytes], then: "Stage") -> int:
        part = data[at : at + self._left]
        passed.append(part)
        self._left -= len(part)
        if self._left == 0:
            self._stage = then
        return at + len(part)

    def _line_end(self, data: bytes, at: int, passed: list[bytes], then: "Stage") -> int:
        found = data[at : at + 2]
        if found == b"\r":
            return at
        if found != b"\r\n":
            raise Malformed
        passed.append(found)
        self._stage = then
        return at + 2


Stage = Callable[[Framing, bytes, int, list[bytes]], int]


def _body_bytes(head: bytes) -> int | None:
    """How long the body after this head is; None where it comes in chunks."""
    form = HEAD.fullmatch(head)
    if form is None:
        raise Malformed
    version, lines = form.groups()
    headers = [(name.lower(), value.strip(b" \t")) for name, value in FRAMING.findall(lines)]
    found = dict(headers)
    if len(found) != len(headers) or HOST.fullmatch(found.get(b"host", b"")) is None:
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
