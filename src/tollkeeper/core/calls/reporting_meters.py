"""Meters of answers that pass as bytes, however large, and end with a report: embeddings, images priced by token.

Rules of this file
1. Nothing is kept of what passes but the member `usage` of the object that the answer is, and of that only so much.
2. A report that cannot be read, or that says of itself that it is an estimate, is none.
3. Numbers of vectors are passed over, not read: a large answer has millions.
"""

from typing import Any, TypeGuard

import msgspec

from tollkeeper.core.calls.image_meter import IMAGE_PLACE, ImageMeter
from tollkeeper.core.calls.json_numbers import read_float
from tollkeeper.core.money.parts import NO_PARTS, UsageParts
from tollkeeper.core.money.prices import Usage

USAGE = b"usage"
USAGE_PLACE = b"{{"
USAGE_BYTES_MOST = 16 * 1024
VECTOR = b"embedding"
VECTOR_PLACE = b"{[{["

decode = msgspec.json.Decoder(float_hook=read_float).decode
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ReportingMeter(ImageMeter):
    """Keeps the report that stands in an answer."""

    def __init__(self) -> None:
        super().__init__()
        self._usage = bytearray()
        self._is_in_usage = False

    def read(self, piece: bytes) -> None:
        """Raise NotAnAnswer."""
        self.characters += len(piece)
        at = 0
        while at < len(piece):
            was_in_usage, begin = self._is_in_usage, at
            at = self._step(piece, at)
            if was_in_usage and len(self._usage) <= USAGE_BYTES_MOST:
                self._usage += piece[begin:at]

    def _step(self, piece: bytes, at: int) -> int:
        return self._read_outside(piece, at) if self._string is None else self._read_string(piece, at, self._string)

    def _begin(self, mark: bytes) -> None:
        name = self._name
        super()._begin(mark)
        if name == USAGE and self._open == USAGE_PLACE:
            # Of two, a reader keeps the second.
            self._is_in_usage, self._usage = True, bytearray(mark)

    def _end(self, mark: bytes) -> None:
        if self._open == USAGE_PLACE:
            self._is_in_usage = False
        super()._end(mark)

    def _report(self) -> dict[str, Any]:
        """What the provider says of its usage; empty where it says nothing, or nothing of use."""
        if not self.finished or not 0 < len(self._usage) <= USAGE_BYTES_MOST:
            return {}
        try:
            reported = decode(bytes(self._usage))
        except NOT_READ:
            return {}
        return {} if reported.get("estimated") is True else reported


class EmbeddingMeter(ReportingMeter):
    """Counts vectors as images are counted, and knows the tokens of the input from the report."""

    def __init__(self) -> None:
        super().__init__()
        self._is_in_vector = False

    @property
    def reported(self) -> Usage | None:
        tokens = self._report().get("prompt_tokens")
        return Usage(tokens) if is_whole(tokens) else None

    def _step(self, piece: bytes, at: int) -> int:
        if self._is_in_vector:
            # What stands between its brackets are numbers.
            end = piece.find(b"]", at)
            if end != at:
                return len(piece) if end < 0 else end
        return super()._step(piece, at)

    def _begin(self, mark: bytes) -> None:
        name = self._name
        super()._begin(mark)
        if name == VECTOR and self._is_data and self._open == VECTOR_PLACE:
            self._is_in_vector = self._has_picture = True

    def _end(self, mark: bytes) -> None:
        self._is_in_vector = False
        super()._end(mark)

    def _end_string(self, string: bytes) -> None:
        super()._end_string(string)
        if self._is_data and string and self._name == VECTOR and self._open == IMAGE_PLACE:
            # In base64.
            self._has_picture = True


class TokenImageMeter(ReportingMeter):
    """Counts images, and knows their tokens from the report. Without one, each counts as many as were held for."""

    def __init__(self, tokens_each: int) -> None:
        super().__init__()
        self._tokens_each = tokens_each

    def read(self, piece: bytes) -> None:
        super().read(piece)
        self.output_tokens = self.guessed_tokens = self.images * self._tokens_each

    @property
    def reported(self) -> Usage | None:
        report = self._report()
        input_tokens, output_tokens = report.get("input_tokens"), report.get("output_tokens")
        if not (is_whole(input_tokens) and is_whole(output_tokens)):
            return None
        parts = UsageParts(
            image_input=_detail(report, "input_tokens_details", input_tokens),
            image_output=_detail(report, "output_tokens_details", output_tokens),
        )
        return Usage(input_tokens, output_tokens, 0, None if parts == NO_PARTS else parts)


def is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _detail(report: dict[str, Any], name: str, most: int) -> int:
    """How many of the tokens are those of images; 0 where the report does not say so, or says more than `most`."""
    details = report.get(name)
    tokens = details.get("image_tokens") if isinstance(details, dict) else None
    return tokens if is_whole(tokens) and 0 <= tokens <= most else 0
