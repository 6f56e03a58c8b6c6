import json

import pytest

from tollkeeper.core.calls.chat import CHOICES_MOST
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.repeated import NO_CHOICE, RepeatedByChoice
from tollkeeper.core.calls.tokens import count

PARTS = [f"{at}. The keeper counts every token, and never twice. " for at in range(6)]


def a_chunk(index: int, beside: dict[str, object], **fields: object) -> bytes:
    choice = {"index": index, "delta": {}, "finish_reason": None} | beside
    return json.dumps({"id": "c", "choices": [choice], **fields}).encode()


def counted(*events: bytes, choices: int) -> int:
    meter = Meter(choices)
    for event in events:
        meter.read_event(event)
    return meter.output_tokens


@pytest.mark.parametrize("choices", [1, 2, 3])
@pytest.mark.parametrize("name", ["system_fingerprint", "murmur", "usage"])
def test_what_changes_beside_each_of_several_choices_counts_for_each(name: str, choices: int) -> None:
    events = [
        a_chunk(index, {}, **{name: {"note": part} if name == "usage" else part})
        for part in PARTS
        for index in range(choices)
    ]
    assert counted(*events, choices=choices) >= choices * count("".join(PARTS))


def test_what_was_filtered_of_each_of_several_choices_counts_for_each() -> None:
    long = "".join(PARTS) * 2
    events = [a_chunk(index, {"content_filter_results": {"hate": {"severity": long}}}) for index in range(3)]
    assert counted(*events, *events, choices=3) == count(long * 3)


def test_words_in_place_of_a_report_count_each_time_where_no_choice_stands_beside_them() -> None:
    events = [json.dumps({"choices": [], "usage": {"note": part}}).encode() for part in PARTS for _ in range(3)]
    assert counted(*events, choices=3) == count("".join(part * 3 for part in PARTS))


def test_what_stands_beside_every_choice_alike_counts_at_most_once_for_each() -> None:
    events = [a_chunk(index, {}, system_fingerprint="fp_1", citations=[PARTS[0]]) for index in (0, 1)] * 20
    assert counted(*events, choices=2) == 2 * count(PARTS[0])


def test_a_label_that_some_chunks_lack_is_still_the_same() -> None:
    repeated = RepeatedByChoice()
    told = [("a", "m"), (None, "m"), ("a", None), ("a", "m")]
    assert [repeated.news(0, "", label) for label in told] == ["", "", "", ""]
    assert repeated.label == ("a", "m")


def test_a_label_that_has_changed_counts_once_where_no_choice_stands_beside_it_either() -> None:
    repeated = RepeatedByChoice()
    told = [(0, None), (0, "first"), (NO_CHOICE, "second"), (NO_CHOICE, "third")]
    assert [repeated.news(index, "", (label,)) for index, label in told] == ["", "first", "second", "third"]


def test_what_is_kept_does_not_grow_with_the_choices_that_a_provider_invents() -> None:
    repeated = RepeatedByChoice()
    for index in (*range(1_000), *range(-1_000, 0), 2**62):
        repeated.news(index, str(index), ("a",))
    assert len(repeated._by_index) == CHOICES_MOST + 2
