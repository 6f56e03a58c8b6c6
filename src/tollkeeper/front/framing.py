"""Strict HTTP/1.1 framing: what two parsers could read in two ways (request smuggling) is not passed on.

Rules of this file
1. The rules of the server (`server/rules`); and a Host, always.
2. Bytes are passed on unchanged, and a head only when it is whole; one header is added at its end.
3. Of a request that is to be the last, a second one says so, and the gateway ends the connection after its answer.
   What comes behind it is let go: nobody would read it.
4. No IO here.
"""

import re
from collections import deque
from collections.abc import Callable

from tollkeeper.server.rules import CHUNK_LINE, CHUNK_LINE_BEGUN, HEAD, HEAD_END, TORN, Malformed, body_bytes, by_name

HEAD_BYTES_MOST = 16 * 1024
HANG_UP = b"Connection: close\r\n"

FRAMING = re.compile(rb"^(host|content-length|transfer-encoding):([^\r]*)\r", re.IGNORECASE | re.MULTILINE)


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
        stop = data.find(HEAD_END, at + max(0, self._looked_at - len(HEAD_END)))
        head = data[at:] if stop < 0 else data[at : stop + len(HEAD_END)]
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
        return stop + len(HEAD_END)

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
    headers = [(name.lower(), value.strip(b" \t")) for name, value in FRAMING.findall(form[4])]
    found = by_name(headers)
    if b"host" not in found:
        raise Malformed
    return body_bytes(form[3], found)
