"""New models: their first prices, put together from what an operator names.

Rules of this file
1. What images are priced by, their size or their tokens, is said and never left to chance.
2. Of what a vendor is known to price apart, parts are proposed (`price_proposals`), and whoever adds the model is told.
"""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from tollkeeper.accounts.price_parts import PriceRefused, checked_multiplier, checked_size
from tollkeeper.accounts.price_proposals import FilledFigures, filled
from tollkeeper.accounts.prices import first_price
from tollkeeper.core.catalog.models import Kind
from tollkeeper.ports import NewPrice
from tollkeeper.ports.catalog.prices import NewFigures, NewParts


class FirstPrices(msgspec.Struct, frozen=True):
    """What a new model costs, and what of it nobody named."""

    prices: list[NewPrice]
    filled: FilledFigures


def first_prices(
    model_id: str, kind: Kind, figures: NewFigures, sizes: Mapping[str, Decimal], *, by_token: bool
) -> FirstPrices:
    """`sizes`: quota tokens for an image, by its size and quality. Raise PriceRefused."""
    _check_way(kind, has_sizes=bool(sizes), by_token=by_token)
    if sizes:
        if figures.parts != NewParts():
            raise PriceRefused("The price of an image has no parts: it is the whole of what the image costs.")
        return FirstPrices([_of_size(*size) for size in sizes.items()], FilledFigures(figures=figures))
    found = filled(model_id, figures) if kind is Kind.CHAT or by_token else FilledFigures(figures=figures)
    return FirstPrices([_price(found.figures)], found)


def _check_way(kind: Kind, *, has_sizes: bool, by_token: bool) -> None:
    if by_token and (kind is not Kind.IMAGE or has_sizes):
        raise PriceRefused("Only a model for images is added --by-token, and without a --price for each size.")
    if not by_token and (kind is Kind.IMAGE) is not has_sizes:
        raise PriceRefused(
            "A model for images needs its prices, and no other has such: --price SIZE=QUOTA, for each size; or "
            "--by-token, with its multipliers."
        )


def _of_size(variant: str, quota_tokens: Decimal) -> NewPrice:
    checked_multiplier(quota_tokens)
    return NewPrice(model=quota_tokens, variant=checked_size(variant))


def _price(figures: NewFigures) -> NewPrice:
    """The only one. Raise PriceRefused."""
    return first_price(msgspec.structs.replace(figures, model=Decimal(1) if figures.model is None else figures.model))
