"""What a provider reported of one answer, and how many characters of words had come by then.

A report after which more was said was an early one, as those on the way are: its input is right, its output is not yet.
One of nothing takes nothing back, and one without input is no report on the way: who says so has not counted yet.
"""

import math
from typing import Final

from tollkeeper.core.money.prices import Usage

# A line break, or a full stop, may come behind the last report.
SLACK_CHARACTERS: Final = 16


class Reports:
    __slots__ = ("_last", "_last_until", "_on_the_way", "has_come")

    def __init__(self) -> None:
        # Whether there was any, the last one or an early one.
        self.has_come = False
        self._last: Usage | None = None
        self._last_until = math.inf
        self._on_the_way: Usage | None = None

    def note(self, report: Usage | None, words: int) -> None:
        """`words`: how many characters of them there were."""
        if report is not None and (self._last is None or report.input_units or report.output_units):
            self.has_come, self._last, self._last_until = True, report, words + SLACK_CHARACTERS

    def note_on_the_way(self, report: Usage | None) -> None:
        """By a provider that reports while it is at work."""
        self._on_the_way = report or self._on_the_way

    def last(self, words: int) -> Usage | None:
        return None if words > self._last_until else self._last

    def so_far(self, words: int) -> Usage | None:
        early = self._last if words > self._last_until else self._on_the_way
        return early if early is not None and early.input_units else None
