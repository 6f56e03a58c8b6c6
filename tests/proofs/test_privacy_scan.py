"""The scanner of prove-privacy finds a canary in whatever it was encoded as, and nothing where there is none."""

import os
from random import SystemRandom

import pytest

from proofs.privacy.canaries import Canaries
from proofs.privacy.scan import Scanner, encoded

AROUND = os.urandom(4_000)
ENCODINGS = [name for name, _ in encoded("")]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_canary_is_found_in_every_encoding(encoding: str) -> None:
    canaries = Canaries(SystemRandom())
    written = dict(encoded(f"before it: {canaries.text('somewhere')} and after it"))[encoding]
    finds = list(Scanner(canaries.marker).finds(AROUND + written + AROUND))
    assert encoding in {find.encoding for find in finds}


def test_a_piece_of_a_text_is_enough() -> None:
    canaries = Canaries(SystemRandom())
    text = canaries.text("somewhere").encode()
    scanner = Scanner(canaries.marker)
    for begin in range(len(text) - 70):
        assert list(scanner.finds(text[begin : begin + 70]))


def test_where_a_canary_was_put_is_told() -> None:
    canaries = Canaries(SystemRandom())
    canaries.word("a header")
    [find] = Scanner(canaries.marker).finds(canaries.word("a path").upper().encode())
    assert canaries.place_of(find.number) == "a path"


def test_nothing_is_found_where_nothing_is() -> None:
    canaries = Canaries(SystemRandom())
    assert not list(Scanner(canaries.marker).finds(AROUND * 50))
