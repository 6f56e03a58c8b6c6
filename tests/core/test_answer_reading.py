import json

import pytest

from tollkeeper.core.answer_reading import characters_left_out

SILENT = frozenset({"type", "usage"})
WORDS = "The keeper counts."


@pytest.mark.parametrize(
    ("said", "told", "characters"),
    [
        pytest.param({"type": "text", "text": WORDS}, {"content": WORDS}, 0, id="told"),
        pytest.param({"type": "hologram", "murmur": WORDS}, {}, len(WORDS), id="left out"),
        pytest.param({"text": "a", "more": {"deep": [WORDS]}}, {"content": "a"}, len(WORDS), id="a part left out"),
        pytest.param({"usage": {"note": WORDS}}, {}, 0, id="silent"),
        pytest.param({"text": 'a "quoted"\nword'}, {"content": 'a "quoted"\nword'}, 0, id="told with escapes"),
        pytest.param({"text": 12345678}, {}, 8, id="a number"),
        pytest.param({"thought": True, "text": WORDS}, {"content": WORDS}, 0, id="a vendor's mark"),
        pytest.param({"outcome": "OUTCOME_OK", "output": WORDS}, {}, len(WORDS), id="a vendor's word"),
    ],
)
def test_what_callers_are_not_told_is_known_by_its_length(said: object, told: object, characters: int) -> None:
    found = characters_left_out(json.dumps(said).encode(), json.dumps(told).encode(), SILENT)
    assert found == characters


def test_what_cannot_be_read_has_nothing_to_leave_out() -> None:
    assert characters_left_out(b"{nonsense", b"", SILENT) == 0


def test_of_huge_events_the_difference_of_their_sizes_counts() -> None:
    huge = json.dumps({"murmur": ["ab"] * 300_000}).encode()
    assert characters_left_out(huge, b"x" * 100, SILENT) == len(huge) - 100
