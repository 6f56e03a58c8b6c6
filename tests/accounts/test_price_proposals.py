from decimal import Decimal

import pytest

from tollkeeper.accounts.price_proposals import filled
from tollkeeper.ports.catalog.prices import NewFigures, NewParts, NewTier

PLAIN = NewFigures(model=Decimal("1.5"), completion=Decimal(5))


@pytest.mark.parametrize("model_id", ["claude-sonnet-4.5", "anthropic/Claude-Opus-5"])
def test_a_claude_model_is_proposed_what_its_caches_cost(model_id: str) -> None:
    found = filled(model_id, PLAIN)
    assert found.figures == NewFigures(
        model=Decimal("1.5"),
        completion=Decimal(5),
        cached=Decimal("0.1"),
        parts=NewParts(written_5m=Decimal("1.25"), written_1h=Decimal(2)),
    )
    assert found.proposed == ["cached 0.1", "written for 5 minutes 1.25", "written for an hour 2"]
    assert "Anthropic's public prices" in found.source


def test_what_was_named_or_unset_stays() -> None:
    named = NewFigures(cached=Decimal(1), parts=NewParts(written_5m=None, written_1h=Decimal(3)))
    found = filled("claude-sonnet-4.5", named)
    assert (found.figures, found.proposed, found.source) == (named, [], "")
    some = filled("claude-sonnet-4.5", NewFigures(parts=NewParts(written_1h=Decimal(3))))
    assert some.proposed == ["cached 0.1", "written for 5 minutes 1.25"]
    assert some.figures.parts.written_1h == 3


def test_for_a_tier_there_is_a_hint_and_nothing_is_set() -> None:
    found = filled("gemini-2.5-pro", PLAIN)
    assert (found.figures, found.proposed) == (PLAIN, [])
    assert "--tier 200000=1.25/6" in found.hint
    with_tier = NewFigures(parts=NewParts(tiers={200_000: NewTier(model=Decimal(1))}))
    assert filled("gemini-2.5-pro", with_tier).hint == ""


@pytest.mark.parametrize(
    ("model_id", "proposed"),
    [
        # As OpenAI's list of prices has them: 1.25 and 0.125, 2 and 0.5, 2.5 and 1.25, 15 and 7.5 USD.
        ("gpt-5", ["cached 0.1"]),
        ("openai/gpt-5.1-codex", ["cached 0.1"]),
        ("gpt-4.1-mini", ["cached 0.25"]),
        ("gpt-4o-2024-08-06", ["cached 0.5"]),
        ("o3", ["cached 0.25"]),
        ("o3-mini", ["cached 0.5"]),
        ("o4-mini", ["cached 0.25"]),
        ("o1", ["cached 0.5"]),
        # Sound at 32 and 64 USD, text at 2.5; pictures at 10, text at 5.
        ("gpt-audio", ["audio input 12.8", "audio output 25.6"]),
        ("gpt-4o-audio-preview", ["audio input 16", "audio output 32"]),
        ("gpt-4o-mini-audio-preview", ["audio input 66.666667", "audio output 133.333334"]),
        ("gpt-image-1", ["image input 2"]),
        ("gpt-image-1-mini", ["image input 1.25"]),
    ],
)
def test_models_of_openai_are_proposed_what_its_list_has(model_id: str, proposed: list[str]) -> None:
    found = filled(model_id, PLAIN)
    assert (found.proposed, found.hint) == (proposed, "")
    assert found.source.startswith("OpenAI's public prices: ")
    assert len(found.undone_by) == len(proposed)


@pytest.mark.parametrize(
    ("model_id", "tier"),
    [("gemini-3-pro-preview", "200000=2/4.5"), ("claude-sonnet-4-5", "200000=3/3.75"), ("claude-sonnet-4", "=3/3.75")],
)
def test_long_input_is_hinted_at(model_id: str, tier: str) -> None:
    assert filled(model_id, PLAIN).hint.endswith(f"{tier}.")


@pytest.mark.parametrize(
    "model_id",
    ["gpt-5-pro", "gpt-4o-2024-05-13", "chatgpt-4o-latest", "gpt-4", "o3-pro", "o1-pro", "gpt-50", "turbo3", "gpt-oss"],
)
def test_other_models_are_left_alone(model_id: str) -> None:
    found = filled(model_id, PLAIN)
    assert (found.figures, found.proposed, found.hint) == (PLAIN, (), "")


def test_a_newer_claude_has_one_price_for_all_lengths() -> None:
    for model_id in ("claude-sonnet-4-6", "claude-opus-4-5", "us.anthropic.claude-opus-4-1"):
        assert (len(filled(model_id, PLAIN).proposed), filled(model_id, PLAIN).hint) == (3, "")
