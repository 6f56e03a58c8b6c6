"""A change of a price in USD, for the mail that tells of it.

Rules of this file
1. The figures are those of the mail: multipliers as the price book has them, and parts as JSON.
2. What is not in one of the two prices is told as not set.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import tags
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import Price, millionths

NOT_SET = "not set"
BEFORE, AFTER = "old", "new"
# Stands in for the beginning of a price where only its amounts are looked at.
ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)

_decode_parts = msgspec.json.Decoder(PriceParts).decode


def in_usd(kind: Kind, group: int, model_id: str, figures: Mapping[str, str | int]) -> str:
    """A line for each thing that has a price, before and after, at a group's multiplier (in millionths):
    `    a million input tokens: 2.500 -> 3.000`."""
    before, after = (
        {tag.each: tag.usd for tag in tags(kind, _price(side, model_id, figures), group)} for side in (BEFORE, AFTER)
    )
    names = dict.fromkeys((*before, *after))
    return "".join(f"    {name}: {before.get(name, NOT_SET)} -> {after.get(name, NOT_SET)}\n" for name in names)


def _price(side: str, model_id: str, figures: Mapping[str, str | int]) -> Price:
    parts = str(figures.get(f"{side}_parts", ""))
    return Price(
        id=0,
        model_id=model_id,
        effective_from=ANY_TIME,
        model=_millionths(figures[f"{side}_model"]),
        completion=_millionths(figures[f"{side}_completion"]),
        cached=_millionths(figures[f"{side}_cached"]),
        # A mail names a model with its variant: `gpt-image-1 (1024x1024 high)`.
        variant=str(figures["model"]).removeprefix(model_id).strip(" ()"),
        parts=_decode_parts(parts) if parts else None,
    )


def _millionths(multiplier: str | int) -> int:
    return millionths(Decimal(multiplier))
