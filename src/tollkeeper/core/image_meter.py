"""Counting images in an answer as it passes, however large: nothing of it is kept.

Rules of this file
1. The answer is one JSON object. Its member `data` is an array, and every object in it is an image.
2. An image counts when its object has come whole, with a picture in it: `url` or `b64_json`.
3. What does not begin like that is no answer. What breaks off later has as many images as came whole.
"""

import re

from tollkeeper.core.meter import NotAnAnswer
from tollkeeper.core.prices import Usage

# What matters inside of a string, and outside.
_IN_STRING = re.compile(rb'[\\"]')
_OUTSIDE = re.compile(rb"[^\s\w:,.+-]")
# Longer names are none that we look for.
NAME_BYTES_MOST = 16
DATA = b"data"
PICTURES = frozenset({b"url", b"b64_json"})
# Where images stand: in an array in the object that the answer is.
IMAGE_PLACE = b"{["


class ImageMeter:
    """Watches one answer, piece by piece: what `Meter` is for chat."""

    output_tokens = 0
    so_far: Usage | None = None

    def __init__(self) -> None:
        # Of output so far, in bytes: whether a caller has heard anything.
        self.characters = 0
        self.images = 0
        self.finished = False
        # What stands open, outermost first.
        self._open = bytearray()
        # The string that is being read, as far as it matters; None outside of strings.
        self._string: bytearray | None = None
        self._is_escaped = False
        self._last_string = b""
        self._is_data = False
        self._has_picture = False

    @property
    def reported(self) -> Usage:
        return Usage(self.images)

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
        if len(string) <= NAME_BYTES_MOST:
            string += piece[at : min(end, at + NAME_BYTES_MOST)]
        if found is None:
            return end
        if found[0] == b"\\":
            # A name with an escape in it is none that we look for either.
            string += b"\\"
            self._is_escaped = True
        else:
            self._end_string(bytes(string))
        return end + 1

    def _end_string(self, string: bytes) -> None:
        self._string = None
        self._last_string = string
        if self._is_data and self._open == IMAGE_PLACE + b"{" and string in PICTURES:
            self._has_picture = True

    def _read_outside(self, piece: bytes, at: int) -> int:
        found = _OUTSIDE.search(piece, at)
        if found is None:
            if not self._open and piece[at:].strip():
                raise NotAnAnswer
            return len(piece)
        mark = found[0]
        if self.finished or (not self._open and mark != b"{"):
            raise NotAnAnswer
        if mark == b'"':
            self._string = bytearray()
        elif mark in b"{[":
            self._begin(mark)
        elif mark in b"}]":
            self._end(mark)
        else:
            raise NotAnAnswer
        return found.end()

    def _begin(self, mark: bytes) -> None:
        self._open += mark
        if self._open == IMAGE_PLACE:
            # What stands before an array is its name.
            self._is_data = self._last_string == DATA
        elif self._open == IMAGE_PLACE + b"{":
            self._has_picture = False

    def _end(self, mark: bytes) -> None:
        if not self._open.endswith(b"{" if mark == b"}" else b"["):
            raise NotAnAnswer
        if self._is_data and self._has_picture and self._open == IMAGE_PLACE + b"{":
            self.images += 1
        self._open.pop()
        self.finished = not self._open
