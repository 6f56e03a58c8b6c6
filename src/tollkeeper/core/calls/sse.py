"""Server-sent events: cutting a stream of bytes into events, however it arrives."""

import re

EVENT_BYTES_MOST = 4 * 1024 * 1024

DONE = b"data: [DONE]\n\n"
# What an event of one line of data has beside that.
PLAIN_BYTES = len(b"data: \n\n")
KEEP_ALIVE = b": keep-alive\n\n"

# A CR before it is part of the line that it ends. Patterns that begin with one certain byte are searched for fastest.
_BLANK_LINE = re.compile(rb"\n\r?\n")
# At the beginning of a line. Found without making a list of all lines, of which an event of 4 MB can have millions.
_DATA_LINE = re.compile(rb"data:(?<![^\r\n]data:)([^\r\n]*)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A blank line may have begun in bytes that were looked at already.
_BLANK_LINE_BYTES_MOST = 3


class EventTooLong(ValueError):
    """An event without end: nobody means that as an answer."""


class EventSplitter:
    """Takes pieces of a stream and gives whole events, each with its blank line."""

    __slots__ = ("_begun", "_rest")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._begun = False

    def feed(self, piece: bytes) -> list[bytes]:
        if not self._begun:
            piece = self._begin(piece)
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

    def _begin(self, piece: bytes) -> bytes:
        """Leave out the byte-order mark that a stream may begin with, as soon as enough of it has come to tell."""
        start = bytes(self._rest) + piece
        if len(start) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(start):
            return piece
        self._begun = True
        if start.startswith(_BYTE_ORDER_MARK):
            self._rest.clear()
            return start.removeprefix(_BYTE_ORDER_MARK)
        return piece

    @property
    def is_between(self) -> bool:
        """Whether all that has come were whole events."""
        return self._begun and not self._rest

    @property
    def rest(self) -> bytes:
        """What came after the last whole event."""
        return bytes(self._rest)


def data_of(event: bytes) -> bytes | None:
    """The data of an event; None where it has none, as in a comment."""
    # As in `is_plain`: a function more for each of thousands would be felt.
    if event.startswith(b"data: ") and event.find(b"\n") == len(event) - 2:
        return event[6:-2].removesuffix(b"\r")
    lines = _DATA_LINE.findall(event)
    return b"\n".join(line.removeprefix(b" ") for line in lines) if lines else None


def is_plain(event: bytes) -> bool:
    """Whether it is one line of data and nothing else, to its end."""
    return event.startswith(b"data: ") and event.find(b"\n") == len(event) - 2 and event.endswith(b"\n\n")


def event(data: bytes) -> bytes:
    """An event of this data and nothing else."""
    return b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"
