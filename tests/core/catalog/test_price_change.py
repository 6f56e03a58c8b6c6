"""A change of a price in USD: each thing by its unit, at the reader's group."""

import pytest

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_change import in_usd

GROUP = 1_000_000
A_CHANGE: dict[str, str | int] = {
    "model": "m",
    "from": "2026-10-02 00:00:00",
    "old_model": "1.25",
    "new_model": "1.5",
    "old_completion": "4",
    "new_completion": "4",
    "old_cached": "0.5",
    "new_cached": "0.25",
    "old_parts": "",
    "new_parts": "",
}


@pytest.mark.parametrize(
    ("kind", "group", "changes", "lines"),
    [
        pytest.param(
            Kind.CHAT,
            GROUP,
            {},
            [
                "a million input tokens: 2.500 -> 3.000",
                "a million cached input tokens: 1.250 -> 0.750",
                "a million output tokens: 10.000 -> 12.000",
            ],
            id="tokens",
        ),
        pytest.param(Kind.EMBEDDING, GROUP // 2, {}, ["a million input tokens: 1.250 -> 1.500"], id="half the price"),
        pytest.param(Kind.SPEECH, GROUP, {}, ["a million characters: 2.500 -> 3.000"], id="characters"),
        pytest.param(Kind.TRANSCRIPTION, GROUP, {}, ["an hour: 0.009 -> 0.0108"], id="seconds, by the hour"),
        pytest.param(
            Kind.IMAGE,
            GROUP,
            {"model": "m (1024x1024 hd)", "old_model": "20000", "new_model": "40000"},
            ["an image: 0.040 -> 0.080"],
            id="an image of a size",
        ),
        pytest.param(
            Kind.EMBEDDING,
            GROUP,
            {"new_parts": '{"per_call": 5000000000}'},
            ["a million input tokens: 2.500 -> 3.000", "a call: not set -> 0.010"],
            id="a part that is new",
        ),
    ],
)
def test_each_thing_is_told_by_its_unit(
    kind: Kind, group: int, changes: dict[str, str | int], lines: list[str]
) -> None:
    assert in_usd(kind, group, "m", A_CHANGE | changes).splitlines() == [f"    {line}" for line in lines]


def test_a_mail_of_an_earlier_version_has_no_parts() -> None:
    figures = {name: figure for name, figure in A_CHANGE.items() if not name.endswith("_parts")}
    assert in_usd(Kind.EMBEDDING, GROUP, "m", figures) == "    a million input tokens: 2.500 -> 3.000\n"
