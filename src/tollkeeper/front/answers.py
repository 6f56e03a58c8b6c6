"""Where each answer of a connection ends, so that a stopping front knows which connections are between requests.

Rules of this file
1. Nothing is changed or kept back: the bytes have been passed on.
2. An answer to HEAD, 204 and 304 have no body; others come in chunks, with a length, or last as long as the connection.
   What is told before an answer (1xx) is none.
3. What cannot be followed is never over. The gateway ends such a connection, or it is waited for.
4. No IO here.
"""

import re
from collections import deque
from collections.abc import Callable

HEAD_BYTES_MOST = 64 * 1024
END = b"\r\n\r\n"

STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])[ \r]")
BODY = re.compile(rb"^(content-length|transfer-encoding):[ \t]*([^\r]*?)[ \t]*\r", re.IGNORECASE | re.MULTILINE)
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
CHUNK_LINE_BYTES_MOST = 17
BEFORE_THE_ANSWER = frozenset({b"100", b"102", b"103"})
WITHOUT_BODY = frozenset({b"204", b"304"})


class AnswerFraming:
    """Follows the answers to the requests in `asked`, and takes each out when its answer is over."""

    __slots__ = ("_asked", "_held", "_left", "_stage")

    def __init__(self, asked: deque[bool]) -> None:
        """`asked`: of each request whether it is for a head alone."""
        self._asked = asked
        self._stage: AnswerStage = AnswerFraming._head
        self._held = b""
        self._left = 0

    def feed(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        at = 0
        while at < len(data):
            after = self._stage(self, data, at)
            if after == at:
                self._held = data[at:]
                break
            at = after

    # Each stage looks at `data` from `at` on, and returns where to go on: the same place, where more has to come first.

    def _head(self, data: bytes, at: int) -> int:
        stop = data.find(END, at)
        if stop < 0:
            return at if len(data) - at <= HEAD_BYTES_MOST else self._lose(data)
        status = STATUS.match(data, at)
        if status is None:
            return self._lose(data)
        after = stop + len(END)
        if status[1] not in BEFORE_THE_ANSWER:
            self._begin_body(status[1], dict(_body_headers(data[at : stop + 2])))
        return after

    def _begin_body(self, status: bytes, headers: dict[bytes, bytes]) -> None:
        length = headers.get(b"content-length", b"")
        if status in WITHOUT_BODY or (self._asked and self._asked[0]):
            self._end()
        elif b"transfer-encoding" in headers:
            self._stage = AnswerFraming._chunk if headers[b"transfer-encoding"] == b"chunked" else AnswerFraming._lose
        elif length.isdigit():
            self._left = int(length)
            self._stage = AnswerFraming._body
            if not self._left:
                self._end()
        else:
            self._stage = AnswerFraming._lose

    def _body(self, data: bytes, at: int) -> int:
        taken = min(self._left, len(data) - at)
        self._left -= taken
        if not self._left:
            self._end()
        return at + taken

    def _chunk(self, data: bytes, at: int) -> int:
        line = CHUNK_LINE.match(data, at)
        if line is None:
            return at if len(data) - at < CHUNK_LINE_BYTES_MOST else self._lose(data)
        size = int(line[1], 16)
        # With the end of its line.
        self._left = size + 2
        self._stage = AnswerFraming._piece if size else AnswerFraming._last_end
        return line.end()

    def _piece(self, data: bytes, at: int) -> int:
        taken = min(self._left, len(data) - at)
        self._left -= taken
        if not self._left:
            self._stage = AnswerFraming._chunk
        return at + taken

    def _last_end(self, data: bytes, at: int) -> int:
        if len(data) - at < len(b"\r\n"):
            return at
        if data[at : at + 2] != b"\r\n":
            return self._lose(data)
        self._end()
        return at + 2

    def _end(self) -> None:
        if self._asked:
            self._asked.popleft()
        self._stage = AnswerFraming._head

    def _lose(self, data: bytes, _: int = 0) -> int:
        self._stage = AnswerFraming._lose
        return len(data)


AnswerStage = Callable[[AnswerFraming, bytes, int], int]


def _body_headers(head: bytes) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value.lower()) for name, value in BODY.findall(head)]
