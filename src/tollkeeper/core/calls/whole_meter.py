"""The meter of an answer that comes whole: its report is read, and its words are counted only if somebody asks for it.

What there is to count of it, and how, is the same as of a stream (`meter`).
"""

from tollkeeper.core.calls.answer_forms import NotAnAnswer, ReceivedAnswer
from tollkeeper.core.calls.answer_reading import read_answer
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.reported_usage import usage_in
from tollkeeper.core.money.prices import Usage


class WholeMeter:
    """Watches one answer of so many choices."""

    __slots__ = ("_body", "_choices", "_counting", "_received", "_untranslated", "is_translated", "reported")

    # Whoever sends a whole answer says nothing on the way.
    so_far: Usage | None = None

    def __init__(self, choices: int = 1) -> None:
        self._choices = choices
        # What came, until its words are counted; and who counts them.
        self._body = b""
        self._received: ReceivedAnswer | None = None
        self._counting: Meter | None = None
        self._untranslated: LeftOut | None = None
        # The provider's last word.
        self.reported: Usage | None = None
        # Whether we have translated the answer, and whatever stands in it was put there by us.
        self.is_translated = False

    def read(self, body: bytes) -> None:
        """Raise NotAnAnswer."""
        answer = read_answer(body)
        if answer.error is not None or answer.choices is None:
            raise NotAnAnswer
        self._body, self._received, self.reported = body, answer, usage_in(answer.usage)

    def note_untranslated(self, untranslated: LeftOut) -> None:
        """A vendor has said this in all that was left out when it was translated."""
        self._untranslated = untranslated
        if self._counting is not None:
            self._counting.note_untranslated(untranslated)

    def estimate(self, size_bytes: int) -> None:
        """So much came that could not be read: its tokens can only be estimated."""
        self._counted.estimate(size_bytes)

    @property
    def characters(self) -> int:
        """Characters of output: those that were left out, and the others as far as they were counted."""
        if self._counting is not None:
            return self._counting.characters
        return 0 if self._untranslated is None else self._untranslated.characters

    @property
    def output_tokens(self) -> int:
        return self._counted.output_tokens

    @property
    def guessed_tokens(self) -> int:
        """Output tokens of text whose form we do not know, or that could not be read."""
        return self._counted.guessed_tokens

    @property
    def _counted(self) -> Meter:
        if self._counting is None:
            self._counting = Meter(self._choices)
            self._counting.is_translated = self.is_translated
            if self._untranslated is not None:
                self._counting.note_untranslated(self._untranslated)
        if (received := self._received) is not None:
            body, self._received, self._body = self._body, None, b""
            self._counting.watch_whole(received, body)
        return self._counting
