"""Server-sent events: cutting a stream of bytes into events, however it arrives."""

import re

EVENT_BYTES_MOST = 4 * 1024 * 1024

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
# A blank line may have begun in bytes that were looked at already.
_BLANK_LINE_BYTES_MOST = 4


class EventTooLong(ValueError):
    """An event without end: nobody means that as an answer."""


class EventSplitter:
    """Takes pieces of a stream and gives whole events, each with its blank line."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        # Most pieces are one event, and need no search.
        if not self._rest and b"\r" not in piece and piece.find(b"\n\n") == len(piece) - 2 >= 0:
            return [piece]
        seen = max(0, len(self._rest) - _BLANK_LINE_BYTES_MOST)
        text: bytes | bytearray = piece
        if self._rest:
            self._rest += piece
            text = self._rest
        events, begin = [], 0
        for blank_line in _BLANK_LINE.finditer(text, seen):
            events.append(bytes(text[begin : blank_line.end()]))
            begin = blank_line.end()
        if begin or text is piece:
            self._rest = bytearray(text[begin:])
        if len(self._rest) > EVENT_BYTES_MOST:
            raise EventTooLong
        return events

    @property
    def rest(self) -> bytes:
        """What came after the last whole event."""
        return bytes(self._rest)


def data_of(event: bytes) -> bytes | None:
    """The data of an event; None where it has none, as in a comment."""
    if event.startswith(b"data: ") and event.find(b"\n") == len(event) - 2:
        return event[6:-2].removesuffix(b"\r")
    lines = [line.removeprefix(b"data:") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(line.removeprefix(b" ") for line in lines) if lines else None


def event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"
