"""Stage directions, read out of what people write."""

import pytest

from tollkeeper_simulator.directions import Asking, BadDirection, Directions, read_directions, without_directions

DEFAULTS = Directions(tokens=9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no directions", DEFAULTS),
        ("a [[wiki link]] and [[]]", DEFAULTS),
        ("[[tokens=3]]", Directions(tokens=3)),
        ("say [[ tokens=3  chunk_ms=2.5 ]] please", Directions(tokens=3, chunk_ms=2.5)),
        ("[[tokens=3 drip=1]] [[tokens=4]]", Directions(tokens=4, drip=True)),
        ('[[status=500 status_text="two words ]]"]]', Directions(tokens=9, status=500, status_text="two words ]]")),
        ("[[thinking=0 cache_write=2]]", Directions(tokens=9, thinking=0, cache_write=2)),
        ("[[images=0 bytes=9 midway=1]]", Directions(tokens=9, images=0, bytes=9, midway=True)),
        ("[[only=here tokens=1]] [[only=there tokens=2]]", Directions(tokens=1)),
    ],
)
def test_what_is_written_is_what_is_done(text: str, expected: Directions) -> None:
    assert read_directions(text, DEFAULTS, Asking("here")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[[nonsense=1]]",
        "[[tokens=many]]",
        "[[tokens=-1]]",
        "[[usage=odd]]",
        "[[status=99]]",
        "[[thinking=-1]]",
        "[[cached=-1]]",
        "[[cache_write=-1]]",
        "[[cache_write_1h=-1]]",
        "[[image_in=-1]]",
        "[[audio_in=-1]]",
        "[[image_out=-1]]",
        "[[audio_out=-1]]",
        "[[tool_uses=-1]]",
        "[[images=-1]]",
        "[[images=1001]]",
        "[[bytes=-1]]",
        "[[arguments=words]]",
        "[[arguments=eyJh]]",
    ],
)
def test_what_cannot_be_done_is_told(text: str) -> None:
    with pytest.raises(BadDirection):
        read_directions(text, DEFAULTS)


def test_only_directions_are_taken_out_of_a_text() -> None:
    assert without_directions("a [[tokens=3]]b [[link]]") == "a b [[link]]"


def test_a_block_speaks_in_its_turn_alone() -> None:
    text = "[[turn=0 tokens=1]] [[turn=1 tokens=2]] [[turn=1 only=there tokens=3]]"
    said = [read_directions(text, DEFAULTS, Asking("here", results)).tokens for results in range(3)]
    assert said == [1, 2, DEFAULTS.tokens]


def test_a_block_that_speaks_once_does_so_to_whom_it_speaks() -> None:
    text, met = "[[once=first only=here tokens=1]]", set[str]()
    asked = [read_directions(text, DEFAULTS, Asking(name), met).tokens for name in ("there", "here", "here")]
    assert asked == [DEFAULTS.tokens, 1, DEFAULTS.tokens]
