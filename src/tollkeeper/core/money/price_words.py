"""How the figures of a price read: multipliers, and the parts that a row of the price book has beyond its three.

Rules of this file
1. All figures stand as in the book: the group's multiplier is not in them.
2. What is not set has no words.
"""

from collections.abc import Mapping

from tollkeeper.core.money.amounts import quota_text
from tollkeeper.core.money.parts import Part, PriceParts, PriceTier
from tollkeeper.core.money.prices import MILLIONTHS

PART_WORDS: Mapping[str, str] = {
    Part.WRITTEN_5M: "written for 5 minutes",
    Part.WRITTEN_1H: "written for an hour",
    Part.IMAGE_INPUT: "image input",
    Part.AUDIO_INPUT: "audio input",
    Part.IMAGE_OUTPUT: "image output",
    Part.AUDIO_OUTPUT: "audio output",
}
WEIGHT_WORDS: Mapping[str, str] = {"input": "input", **PART_WORDS}


def multiplier(millionths: int) -> str:
    """`1250000` → `1.25`."""
    whole, rest = divmod(millionths, MILLIONTHS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def above(tokens: int) -> str:
    return f"above {tokens:,} input tokens"


def part_figures(parts: PriceParts | None) -> dict[str, str]:
    """Each part that is set, by its name: `{"written for 5 minutes": "1.25"}`."""
    if parts is None:
        return {}
    found = {
        words: multiplier(own) for name, words in WEIGHT_WORDS.items() if (own := getattr(parts, name)) is not None
    }
    if parts.per_call:
        found["each call"] = f"{quota_text(parts.per_call)} quota tokens"
    found |= {f"each use of {tool}": f"{quota_text(amount)} quota tokens" for tool, amount in parts.tools.items()}
    return found | {above(tier.above_tokens): tier_figures(tier) for tier in parts.tiers}


def tier_figures(tier: PriceTier) -> str:
    """`model 2.5, completion 6`: what is not named is as in the row."""
    named = {"model": tier.model, "completion": tier.completion, "cached": tier.cached}
    named |= {WEIGHT_WORDS[name]: own for name, own in tier.weights.items()}
    return ", ".join(f"{name} {multiplier(figure)}" for name, figure in named.items() if figure is not None)


def parts_in_words(parts: PriceParts | None) -> str:
    """`; written for 5 minutes 1.25; each call 500 quota tokens`, to follow the three multipliers."""
    return "".join(f"; {name} {figure}" for name, figure in part_figures(parts).items())
