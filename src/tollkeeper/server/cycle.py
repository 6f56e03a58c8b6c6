"""One request and its answer (a cycle), as the application has them.

Rules of this file
1. An answer is written as it comes: with the length that its application says, or in chunks; to HTTP/1.0 as long as
   the connection.
2. A header that could end a line reaches nobody: the answer fails.
3. An answer that does not come to its end breaks the connection off; one that never begins is a 500.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final, Protocol

from tollkeeper.server.application import CallerGone, Header, HttpRequest, ignore
from tollkeeper.server.refusals import FAILED
from tollkeeper.server.requests import RequestHead
from tollkeeper.steady import without_content

BODILESS: Final = frozenset({204, 304})
# One write is cheaper than two; a large body is not copied.
JOINED_BYTES_MOST: Final = 64 * 1024
LAST_CHUNK: Final = b"0\r\n\r\n"
LENGTH, CLOSE = b"\r\ncontent-length: ", b"\r\nconnection: close\r\n"
STATUS_LINES: Final = {int(each): f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}

log = logging.getLogger(__name__)


class CycleLine(Protocol):
    """What a cycle needs of its connection."""

    peer: tuple[str, int]
    is_gone: bool
    # Whether its client has much to read.
    is_full: bool

    @property
    def closes_soon(self) -> bool:
        """Whether it takes no further request."""
        ...

    # To the client, at once.
    write: Callable[[bytes], None]

    async def drained(self) -> None:
        """Wait until its client has read enough."""
        ...

    def ask_for_the_rest(self) -> None:
        """Its client waits for a word before it sends the body."""
        ...

    def read_on(self) -> None:
        """The application has taken what came of the body."""
        ...

    def end_answer(self, *, keeps_alive: bool) -> None:
        """The answer is over."""
        ...

    def abort(self) -> None: ...


class Cycle:
    __slots__ = (
        *("_has_begun", "_head", "_headers", "_is_body_over", "_is_broken", "_is_chunked", "_is_over"),
        *(
            "_keeps_alive",
            "_left",
            "_line",
            "_pieces",
            "_status",
            "_waiter",
            "headers",
            "is_read",
            "method",
            "on_left",
            "owes_a_word",
        ),
        *("path", "query", "task", "unread_bytes"),
    )

    def __init__(self, line: CycleLine, head: RequestHead, begun: bytes, *, is_whole: bool) -> None:
        """`begun`: what has come of the request's body; `is_whole`: whether that is all."""
        self.method, self.path, self.query, self.headers = head.method, head.path, head.query, head.headers
        self.on_left: Callable[[], None] = ignore
        self._line = line
        self._head = head
        # Whether its client waits for a word before it sends the body (100 Continue).
        self.owes_a_word = head.expects and not begun
        self._keeps_alive = head.keeps_alive
        # Of the request's body: what came and was not read yet, whether that is all, and whether all was read.
        self._pieces = [begun] if begun else []
        self.unread_bytes = len(begun)
        self._is_body_over = is_whole
        self.is_read = False
        # It was malformed.
        self._is_broken = False
        self._waiter: asyncio.Future[None] | None = None
        # Of the answer.
        self._status = 0
        self._headers: Sequence[Header] = ()
        self._has_begun = False
        self._is_chunked = False
        # How much of it is to come; None where it says so itself.
        self._left: int | None = None
        self._is_over = False
        # Whoever runs it keeps its task here.
        self.task: asyncio.Task[None] | None = None

    async def run(self, answer: Callable[[HttpRequest], Awaitable[None]]) -> None:
        try:
            await answer(self)
        except Exception as problem:  # The server must survive.
            log.error("a request failed: %s", without_content(problem))
        finally:
            self.on_left = ignore
            if not self._is_over:
                self.break_off()

    # What the connection calls:

    def feed(self, piece: bytes, *, is_whole: bool) -> None:
        """More of the request's body has come."""
        if piece:
            self._pieces.append(piece)
            self.unread_bytes += len(piece)
        self._is_body_over = is_whole
        self._wake()

    def break_body(self) -> None:
        """No more of the request's body can be read."""
        self._is_broken = True
        self._wake()

    def leave(self) -> None:
        """The client has hung up."""
        self._wake()
        on_left, self.on_left = self.on_left, ignore
        on_left()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # What the application calls:

    @property
    def peer(self) -> tuple[str, int]:
        return self._line.peer

    @property
    def is_gone(self) -> bool:
        return self._line.is_gone

    @property
    def is_full(self) -> bool:
        return self._line.is_full

    def whole_body(self) -> bytes | None:
        if not self._is_body_over or self.is_read:
            return None
        return self._take()

    async def read(self) -> bytes:
        if self.owes_a_word:
            self.owes_a_word = False
            if not (self._has_begun or self._line.is_gone):
                self._line.ask_for_the_rest()
        while not (self._pieces or self._is_body_over):
            if self._is_over or self._is_broken or self._line.is_gone:
                raise CallerGone
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            await waiter
        return self._take()

    def _take(self) -> bytes:
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self.unread_bytes, self.is_read = 0, self._is_body_over
        # Also after the last of it: where nothing is read, nobody hears that the client hangs up.
        self._line.read_on()
        return body

    def hang_up(self) -> None:
        self._keeps_alive = False

    def answer(self, status: int, headers: Sequence[Header], body: bytes) -> None:
        self._status, self._headers = status, headers
        self.write(body, is_last=True)

    def begin(self, status: int, headers: Sequence[Header]) -> None:
        self._status, self._headers = status, headers

    def write(self, piece: bytes, *, is_last: bool = False) -> None:
        line = self._line
        if self._is_over or line.is_gone:
            return
        head = b"" if self._has_begun else self._begin(piece, is_last=is_last)
        if self._is_chunked:
            end = LAST_CHUNK if is_last else b""
            piece = b"%x\r\n%b\r\n%b" % (len(piece), piece, end) if piece else end
        elif self._left is not None:
            piece = piece[: self._left]
            self._left -= len(piece)
        if len(piece) > JOINED_BYTES_MOST:
            line.write(head)
            line.write(piece)
        elif head or piece:
            line.write(head + piece)
        if is_last:
            self._end()

    async def drained(self) -> None:
        await self._line.drained()

    def break_off(self) -> None:
        """Where nothing of the answer has gone out, it is a 500; where all of it has, that stands."""
        if self._is_over:
            return
        self._is_over = True
        self._wake()
        if self._line.is_gone:
            return
        if self._has_begun:
            self._line.abort()
        else:
            self._line.write(FAILED)
            self._line.end_answer(keeps_alive=False)

    def _end(self) -> None:
        self._is_over = True
        self.on_left = ignore
        # Another task may wait for more of the request's body.
        self._wake()
        if self._left:
            # Whoever read on would take another answer for the rest of this one.
            self._line.abort()
        else:
            self._line.end_answer(keeps_alive=self._keeps_alive)

    def _begin(self, piece: bytes, *, is_last: bool) -> bytes:
        """The head of the answer. From here on it cannot be another."""
        said = _head_lines(self._status, self._headers)
        self._has_begun = True
        more = b""
        if self._status in BODILESS or self.method == "HEAD":
            self._left = 0
        elif LENGTH in said:
            self._left = int(said.partition(LENGTH)[2].partition(b"\r")[0])
        elif is_last:
            self._left = len(piece)
            more = b"content-length: %d\r\n" % self._left
        elif self._head.version == "1.1":
            self._is_chunked = True
            more = b"transfer-encoding: chunked\r\n"
        else:
            self._keeps_alive = False
        if CLOSE in said:
            self._keeps_alive = False
        elif self._line.closes_soon or not (self._keeps_alive and self._is_body_over):
            self._keeps_alive = False
            more += b"connection: close\r\n"
        elif self._head.version == "1.0":
            more += b"connection: keep-alive\r\n"
        return b"%bdate: %b\r\n%b\r\n" % (said, _date(int(time.time())), more)


def _head_lines(status: int, headers: Sequence[Header]) -> bytes:
    """The beginning of an answer's head. Raise ValueError where a header could end its line."""
    lines = [*map(b": ".join, headers)]
    said = b"".join(lines)
    if b"\n" in said or b"\r" in said or b"\0" in said:
        raise ValueError("a header has a character that none may have")
    return (STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status) + b"\r\n".join([*lines, b""])


@lru_cache(1)
def _date(unix_seconds: int) -> bytes:
    return formatdate(unix_seconds, usegmt=True).encode()
