"""Counting images in an answer as it passes, however large: nothing of it is kept.

Rules of this file
1. The answer is one JSON object. Its member `data` is an array, and every object in it is an image.
2. An image counts when its object has come whole, with a picture in it: `url` or `b64_json`, and not an empty one.
3. What is not like that is no answer, or broken off.
"""

import re

from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.money.prices import Usage

# What matters inside of a string, and outside.
_IN_STRING = re.compile(rb'[\\"]')
_OUTSIDE = re.compile(rb"[^\s\w.+-]")
# Longer names are none that we look for.
NAME_BYTES_MOST = 16
DEPTH_MOST = 64
DATA, ERROR = b"data", b"error"
PICTURES = frozenset({b"url", b"b64_json"})
# Where images stand: objects in an array in the object that the answer is.
ARRAY_PLACE = b"{["
IMAGE_PLACE = b"{[{"
# What is done at each mark outside of strings.
MARKS = {
    b'"': "_begin_string",
    b":": "_note_name",
    b",": "_end_member",
    b"{": "_begin",
    b"[": "_begin",
    b"}": "_end",
    b"]": "_end",
}


class ImageMeter:
    """Watches one answer, piece by piece: what `Meter` is for chat."""

    so_far: Usage | None = None

    def __init__(self) -> None:
        # Of output so far, in bytes: whether a caller has heard anything.
        self.characters = 0
        self.images = 0
        # Images have none, but for those that are priced so.
        self.output_tokens = 0
        self.guessed_tokens = 0
        self._has_ended = False
        self._has_data = False
        # What stands open, outermost first.
        self._open = bytearray()
        # The string that is being read, as far as it matters; None outside of strings.
        self._string: bytearray | None = None
        self._is_escaped = False
        self._last_string = b""
        # Of the member that is being read.
        self._name = b""
        self._is_data = False
        self._has_picture = False

    @property
    def reported(self) -> Usage | None:
        return Usage(self.images)

    @property
    def finished(self) -> bool:
        return self._has_ended and self._has_data

    def read(self, piece: bytes) -> None:
        """Raise NotAnAnswer."""
        self.characters += len(piece)
        at = 0
        while at < len(piece):
            at = self._read_outside(piece, at) if self._string is None else self._read_string(piece, at, self._string)

    def _read_string(self, piece: bytes, at: int, string: bytearray) -> int:
        if self._is_escaped:
            self._is_escaped = False
            return at + 1
        found = _IN_STRING.search(piece, at)
        end = len(piece) if found is None else found.start()
        # Never more than one byte beyond a name, so that it does not matter where the answer was cut.
        room = NAME_BYTES_MOST + 1 - len(string)
        string += piece[at : min(end, at + room)]
        if found is None:
            return end
        if found[0] == b"\\":
            self._is_escaped = True
            if end - at < room:
                string += b"\\"
        else:
            self._end_string(bytes(string))
        return end + 1

    def _end_string(self, string: bytes) -> None:
        self._string = None
        self._last_string = string
        if self._is_data and string and self._name in PICTURES and self._open == IMAGE_PLACE:
            self._has_picture = True

    def _read_outside(self, piece: bytes, at: int) -> int:
        found = _OUTSIDE.search(piece, at)
        end = len(piece) if found is None else found.start()
        if not self._open and piece[at:end].strip():
            raise NotAnAnswer
        if found is None:
            return end
        mark = found[0]
        if self._has_ended or (not self._open and mark != b"{"):
            raise NotAnAnswer
        # By name: other meters do more at some of them.
        getattr(self, MARKS.get(mark, "_refuse"))(mark)
        return found.end()

    def _refuse(self, _: bytes) -> None:
        raise NotAnAnswer

    def _begin_string(self, _: bytes) -> None:
        self._refuse_errors()
        self._string = bytearray()

    def _note_name(self, _: bytes) -> None:
        # Nobody writes these names with escapes, and what they mean could be missed.
        if b"\\" in self._last_string and self._open in (b"{", IMAGE_PLACE):
            raise NotAnAnswer
        self._name = self._last_string

    def _end_member(self, _: bytes) -> None:
        self._name = b""

    def _begin(self, mark: bytes) -> None:
        self._refuse_errors()
        self._open += mark
        if len(self._open) > DEPTH_MOST:
            raise NotAnAnswer
        if self._open == ARRAY_PLACE:
            self._is_data = self._name == DATA
            if self._is_data:
                # Of two, a reader keeps the second.
                self._has_data, self.images = True, 0
        elif self._open == IMAGE_PLACE:
            self._has_picture = False
        self._name = b""

    def _end(self, mark: bytes) -> None:
        if not self._open.endswith(b"{" if mark == b"}" else b"["):
            raise NotAnAnswer
        if self._is_data and self._has_picture and self._open == IMAGE_PLACE:
            self.images += 1
        self._open.pop()
        self._name = b""
        self._has_ended = not self._open

    def _refuse_errors(self) -> None:
        """An error, unless it is null, with a status that was not meant."""
        if self._name == ERROR and self._open == b"{":
            raise NotAnAnswer
