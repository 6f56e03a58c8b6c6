"""What the simulator says: the same words whatever their pieces, and in each piece as many as it says."""

import pytest

from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.order import CheckedOrder, Manner
from tollkeeper_simulator.speech import WORDS, Piece, speech_for, text_of, thoughts_of

ROUND = len(WORDS)


def said(pieces: list[Piece]) -> str:
    return b"".join(piece.escaped for piece in pieces).decode()


@pytest.mark.parametrize("tokens", [1, 2, ROUND - 1, ROUND, ROUND + 1, 3 * ROUND + 2, 5_000])
@pytest.mark.parametrize("per_chunk", [1, 2, 7, ROUND, ROUND + 9])
def test_pieces_are_the_text(tokens: int, per_chunk: int) -> None:
    order = CheckedOrder(model="m", messages=[], stream=True, manner=Manner(shows_thoughts=True))
    speech = speech_for(order, "", Directions(tokens=tokens, thinking=tokens, per_chunk=per_chunk))
    assert said(list(speech.pieces)) == text_of(tokens)
    assert said(list(speech.thoughts)) == thoughts_of(tokens)
    for piece in (*speech.pieces, *speech.thoughts):
        assert len(piece.escaped.split()) == piece.tokens <= per_chunk
    assert speech.tokens == 2 * tokens
