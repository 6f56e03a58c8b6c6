"""Canaries: texts that stand nowhere else, so that wherever one is found, a caller's or a model's words got there.

Rules of this file
1. All canaries of a run share a marker of lower-case letters and digits, which no escaping changes: whoever finds the
   marker has found a canary, cut or whole.
2. Behind the marker stands a number that says where the canary was put.
3. A text repeats its canary between letters that escaping does change, so that a piece cut from any part has one.
"""

import random
import string
import threading

MARKER_CHARACTERS = 11
NUMBER_CHARACTERS = 5
LETTERS = string.ascii_lowercase + string.digits


class Canaries:
    """Those of one run, by number; `where` of each says in which field of which call it was put."""

    def __init__(self, chance: random.Random) -> None:
        self.marker = chance.choice(string.ascii_lowercase) + "".join(chance.choices(LETTERS, k=MARKER_CHARACTERS - 1))
        self.where: list[str] = []
        # Several callers make canaries at once.
        self._one_at_a_time = threading.Lock()

    def word(self, where: str) -> str:
        """A canary alone: for names, codes and headers."""
        with self._one_at_a_time:
            self.where.append(where)
            return f"{self.marker}{len(self.where) - 1:0{NUMBER_CHARACTERS}d}"

    def text(self, where: str) -> str:
        """A canary as a sentence."""
        word = self.word(where)
        return f'Dear {word}, "it\'s" <b>5 % of \u20ac</b> & more\\{word}: grüße\n\t\u2603 from {word} 🙂 {word}.'

    def place_of(self, number: str) -> str:
        """Where the canary with this number was put, as far as it can be told."""
        return self.where[int(number)] if number.isdigit() and int(number) < len(self.where) else "somewhere"
