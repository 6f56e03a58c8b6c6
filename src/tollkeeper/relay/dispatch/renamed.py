"""Answers of a model that goes by another name at its provider account: callers see the name that they asked for.

What a deployment is called is the operator's own affair. Where both names are the same, an answer passes as it came.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from tollkeeper.ports import UpstreamAnswer

# Inside of a text such quotes would be escaped: this is a member of an object. An empty name gives nothing away.
_MODEL = re.compile(rb'("model"\s*:\s*)"(?:[^"\\]|\\.)+"')

_MEMBER = b'"model"'
# With a name that is longer, it is none.
MEMBER_BYTES_MOST = 300

Shown = Callable[[bytes], bytes]


class RenamedAnswer:
    """An `UpstreamAnswer` around another, with the name that its model has here."""

    def __init__(self, answer: UpstreamAnswer, model: str) -> None:
        self.status = answer.status
        self.is_translated = answer.is_translated
        # Nothing is left out of it.
        self.untranslated = answer.untranslated
        self._answer = answer
        self._name = msgspec.json.encode(model)

    def __getattr__(self, name: str) -> Any:
        """Whatever else is known of an answer is known of this one."""
        return getattr(self._answer, name)

    def header(self, name: str) -> str | None:
        return self._answer.header(name)

    async def read(self) -> bytes:
        """The next piece, unchanged: a name may stand in two pieces."""
        return await self._answer.read()

    def pass_by(self, take: Callable[[bytes], bool]) -> None:
        """Nothing does: all of it is read for names."""

    async def close(self) -> None:
        await self._answer.close()

    def shown(self, text: bytes) -> bytes:
        """A whole answer, or one event of it, as callers see it."""
        return _MODEL.sub(lambda found: found[1] + self._name, text)


def renaming_of(answer: UpstreamAnswer) -> Shown | None:
    """What is made of each event; None where nothing is."""
    return answer.shown if isinstance(answer, RenamedAnswer) else None


class RenamedPieces:
    """An answer that passes in pieces, as callers see it."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        # What may be the beginning of a name that ends in the next piece.
        self._held_back = b""

    def take(self, piece: bytes) -> bytes:
        """The next piece; what is left where that is empty, at the end."""
        text = self._held_back + piece
        cut = _open_at(text) if piece else len(text)
        self._held_back = text[cut:]
        return self._shown(text[:cut])


def _open_at(text: bytes) -> int:
    """Where a member with a model's name begins that goes on after this text; its end where there is none."""
    at = text.rfind(_MEMBER)
    found = None if at < 0 else _MODEL.match(text, at)
    if at >= 0 and found is None and len(text) - at < MEMBER_BYTES_MOST:
        return at
    left = len(text) - (0 if found is None else found.end())
    begun = (size for size in range(min(left, len(_MEMBER) - 1), 0, -1) if text.endswith(_MEMBER[:size]))
    return len(text) - next(begun, 0)
