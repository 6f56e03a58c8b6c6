"""Requests as the server hands them on, without a server: what is read is given, and what is written is kept."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from tollkeeper.server.application import CallerGone, Header, ignore


class Asked:
    """A request of a client that waits for all of its answer, unless it `leaves`."""

    def __init__(
        self,
        method: str = "POST",
        path: bytes = b"/",
        headers: Iterable[Header] = (),
        pieces: Iterable[bytes] = (),
        *,
        ends: bool = True,
        peer: tuple[str, int] = ("", 0),
    ) -> None:
        """`pieces`: its body, as it is read; where that has no end, whoever reads on waits until it leaves."""
        self.method, self.path, self.query, self.headers, self.peer = method, path, b"", list(headers), peer
        self.on_left: Callable[[], None] = ignore
        self.is_read = False
        self.is_gone = False
        self.is_full = False
        self.is_broken_off = False
        self.hangs_up = False
        self.status = 0
        self.given: Sequence[Header] = ()
        # What was written, and whether that was all.
        self.written: list[bytes] = []
        self.is_over = False
        self.wrote = asyncio.Event()
        self._pieces = list(pieces)
        self._ends = ends
        self._waits = asyncio.Event()

    def leave(self) -> None:
        self.is_gone = True
        self._waits.set()
        self.on_left()

    def whole_body(self) -> bytes | None:
        if not self._ends or self.is_read or len(self._pieces) != 1:
            return None
        self.is_read = True
        return self._pieces.pop()

    async def read(self) -> bytes:
        if not self._pieces:
            if not self._ends:
                await self._waits.wait()
            raise CallerGone
        piece = self._pieces.pop(0)
        self.is_read = self._ends and not self._pieces
        return piece

    def hang_up(self) -> None:
        self.hangs_up = True

    def answer(self, status: int, headers: Sequence[Header], body: bytes) -> None:
        self.begin(status, headers)
        self.write(body, is_last=True)

    def begin(self, status: int, headers: Sequence[Header]) -> None:
        self.status, self.given = status, headers

    def write(self, piece: bytes, *, is_last: bool = False) -> None:
        if not self.is_over:
            self.written.append(piece)
            self.is_over = is_last
            self.wrote.set()

    async def drained(self) -> None:
        await asyncio.Event().wait()

    def break_off(self) -> None:
        self.is_broken_off = True

    @property
    def text(self) -> bytes:
        return b"".join(self.written)

    async def has_written(self, pieces: int) -> None:
        while len(self.written) < pieces:
            self.wrote.clear()
            await self.wrote.wait()
