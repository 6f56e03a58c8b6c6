import pytest

from tollkeeper.core.money.parts import PriceParts, PriceTier
from tollkeeper.core.money.price_words import multiplier, part_figures, parts_in_words
from tollkeeper.core.money.prices import MILLIONTHS

QUOTA_TOKEN = 1_000_000


@pytest.mark.parametrize(
    ("millionths", "text"), [(0, "0"), (1, "0.000001"), (1_250_000, "1.25"), (10_000_000, "10"), (100_500_000, "100.5")]
)
def test_a_multiplier_has_no_zeros_behind_it(millionths: int, text: str) -> None:
    assert multiplier(millionths) == text


@pytest.mark.parametrize("parts", [None, PriceParts()], ids=["none", "empty"])
def test_what_is_not_set_has_no_words(parts: PriceParts | None) -> None:
    assert (part_figures(parts), parts_in_words(parts)) == ({}, "")


def test_every_part_has_words() -> None:
    tiers = (
        PriceTier(above_tokens=200_000, model=2_500_000, completion=6 * MILLIONTHS),
        PriceTier(above_tokens=1_000_000, model=5 * MILLIONTHS, cached=0),
    )
    parts = PriceParts(
        written_5m=1_250_000,
        written_1h=2_000_000,
        image_input=0,
        audio_input=16_000_000,
        image_output=8_000_000,
        audio_output=32_000_000,
        per_call=5_000 * QUOTA_TOKEN,
        tools={"web_search": QUOTA_TOKEN // 2},
        tiers=tiers,
    )
    assert part_figures(parts) == {
        "written for 5 minutes": "1.25",
        "written for an hour": "2",
        "image input": "0",
        "audio input": "16",
        "image output": "8",
        "audio output": "32",
        "each call": "5000 quota tokens",
        "each use of web_search": "0.5 quota tokens",
        "above 200,000 input tokens": "model 2.5, completion 6",
        "above 1,000,000 input tokens": "model 5, cached 0",
    }
    assert parts_in_words(PriceParts(written_5m=1, per_call=QUOTA_TOKEN)) == (
        "; written for 5 minutes 0.000001; each call 1 quota tokens"
    )
