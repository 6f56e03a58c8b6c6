"""Reads requests: the head, then the body as it comes, then the next head, by the rules of `rules`. No IO here."""

from collections.abc import Callable
from typing import NamedTuple

from tollkeeper.server.application import Header
from tollkeeper.server.rules import (
    CHUNK_LINE,
    CHUNK_LINE_BEGUN,
    HEAD,
    HEAD_END,
    TORN,
    Malformed,
    body_bytes,
    by_name,
)

HEAD_BYTES_MOST = 64 * 1024
LINE_END = b"\r\n"
# Of chunks: whoever sends one byte in each keeps others waiting for a millisecond or so, and then has to wait.
STEPS_AT_ONCE = 1_024


class RequestHead(NamedTuple):
    method: str
    # As it was sent.
    path: bytes
    query: bytes
    version: str
    # Names in lower case.
    headers: list[Header]
    # None: it comes in chunks.
    body_bytes: int | None
    keeps_alive: bool
    # Its sender waits for a word before the body.
    expects: bool


class RequestReader:
    """The requests of one connection, one after the other."""

    __slots__ = ("_at", "_held", "_is_chunked", "_left", "_looked_at", "_stage", "is_whole")

    def __init__(self) -> None:
        # Whether the last request has come to its end.
        self.is_whole = True
        # What has come, and how far it was taken; how much of a head that is not whole was looked at.
        self._held = b""
        self._at = 0
        self._looked_at = 0
        self._is_chunked = False
        # Of the body, or of the chunk.
        self._left = 0
        self._stage: ChunkStage = RequestReader._line

    def feed(self, data: bytes) -> None:
        self._held = self._held[self._at :] + data if self._at < len(self._held) else data
        self._at = 0

    @property
    def held_bytes(self) -> int:
        return len(self._held) - self._at

    def head(self) -> RequestHead | None:
        """The next request; None where its head is not whole. Raise Malformed."""
        held, at = self._held, self._at
        stop = held.find(HEAD_END, at + max(0, self._looked_at - len(HEAD_END)))
        if (len(held) if stop < 0 else stop) - at > HEAD_BYTES_MOST:
            raise Malformed
        if stop < 0:
            # What stands before it is not of this head.
            if TORN.search(held[at:], max(0, self._looked_at - 1)):
                raise Malformed
            self._looked_at = len(held) - at
            return None
        form = HEAD.match(held, at)
        if form is None:
            raise Malformed
        self._looked_at, self._at = 0, form.end()
        found = _head_of(*form.groups())
        self._left, self.is_whole = found.body_bytes or 0, found.body_bytes == 0
        self._is_chunked, self._stage = found.body_bytes is None, RequestReader._line
        self._let_go()
        return found

    def body(self) -> bytes:
        """What has come of the body since it was last asked for: of chunks, so many at once. Raise Malformed."""
        if self._is_chunked:
            pieces: list[bytes] = []
            for _ in range(STEPS_AT_ONCE):
                if self.is_whole or not self.held_bytes or not self._stage(self, pieces):
                    break
            self._let_go()
            return b"".join(pieces)
        part = self._part()
        self.is_whole = not self._left
        self._let_go()
        return part

    def _let_go(self) -> None:
        """Keep nothing of what was taken: a connection may be idle for long, or its answer a long stream."""
        if self._at == len(self._held):
            self._held, self._at = b"", 0

    def _part(self) -> bytes:
        begin = self._at
        part = self._held[begin : begin + self._left]
        self._at, self._left = begin + len(part), self._left - len(part)
        return part

    # Each stage of a chunk takes what is its own. Whether it could; or more has to come first.

    def _line(self, pieces: list[bytes]) -> bool:
        held = self._held
        line = CHUNK_LINE.match(held, self._at)
        if line is None:
            if CHUNK_LINE_BEGUN.fullmatch(held, self._at) is None:
                raise Malformed
            return False
        size_bytes, begin = int(line[1], 16), line.end()
        end = begin + size_bytes
        if size_bytes and held.startswith(LINE_END, end):
            # All of it is there.
            pieces.append(held[begin:end])
            self._at = end + len(LINE_END)
        else:
            self._left, self._at = size_bytes, begin
            self._stage = RequestReader._piece if size_bytes else RequestReader._last_end
        return True

    def _piece(self, pieces: list[bytes]) -> bool:
        pieces.append(self._part())
        if not self._left:
            self._stage = RequestReader._piece_end
        return True

    def _piece_end(self, _: list[bytes]) -> bool:
        if not self._takes_line_end():
            return False
        self._stage = RequestReader._line
        return True

    def _last_end(self, _: list[bytes]) -> bool:
        self.is_whole = self._takes_line_end()
        return self.is_whole

    def _takes_line_end(self) -> bool:
        found = self._held[self._at : self._at + len(LINE_END)]
        if not LINE_END.startswith(found):
            raise Malformed
        if found != LINE_END:
            return False
        self._at += len(LINE_END)
        return True


ChunkStage = Callable[[RequestReader, list[bytes]], bool]


def _head_of(method: bytes, target: bytes, version: bytes, lines: bytes) -> RequestHead:
    headers = []
    for line in lines.split(LINE_END)[:-1]:
        name, _, value = line.partition(b":")
        headers.append((name.lower(), value.strip(b" \t")))
    found = by_name(headers)
    length = body_bytes(version, found)
    path, _, query = target.partition(b"?")
    said = found.get(b"connection", b"").lower()
    keeps_alive = b"close" not in said and (version == b"1" or b"keep-alive" in said)
    # HTTP/1.0 knows no such word; and nobody waits to send a body that is none.
    expects = version == b"1" and length != 0 and found.get(b"expect", b"").lower() == b"100-continue"
    return RequestHead(method.decode(), path, query, f"1.{version.decode()}", headers, length, keeps_alive, expects)
