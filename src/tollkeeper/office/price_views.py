"""Prices as staff are shown them: in USD first, beside that the multipliers of the book, as exact texts."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import tags
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.price_words import multiplier as written
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.ports.catalog.prices import Effect, PriceRow


class PriceState(StrEnum):
    ANNOUNCED = "announced"
    HAS_TAKEN_EFFECT = "has_taken_effect"
    WITHDRAWN = "withdrawn"


class UsdTag(msgspec.Struct, frozen=True):
    """What something costs. `for`: `a million input tokens`."""

    each: str = msgspec.field(name="for")
    usd: str


class PriceMultipliers(msgspec.Struct, frozen=True):
    """As the price book has them."""

    model: str
    completion: str
    cached: str


class PriceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a model costs from an instant on. `usd` is for a group whose multiplier is 1, where no group was named."""

    model_id: str
    # Of an image, its size and quality.
    variant: str
    kind: Kind
    effective_from: datetime
    usd: Sequence[UsdTag]
    multipliers: PriceMultipliers
    parts_millionths: PriceParts | None


class PriceView(PriceFigures, frozen=True, kw_only=True):
    """A row of the price book."""

    price_id: int
    state: PriceState
    announced_at: datetime
    entered_by: str | None
    forced_because: str | None
    withdrawn_at: datetime | None
    withdrawn_by: str | None
    withdraw_reason: str | None


class EffectView(msgspec.Struct, frozen=True, kw_only=True):
    """Real calls, and what they cost: as charged, at the price before a change, and at the one after it."""

    # None: all accounts together.
    account: int | None
    calls: int
    charged: Amount
    old: Amount
    new: Amount


def figures_view(kind: Kind, price: Price, group: int = MILLIONTHS) -> PriceFigures:
    """`group`: the multiplier of those who pay, in millionths."""
    return PriceFigures(
        model_id=price.model_id,
        variant=price.variant,
        kind=kind,
        effective_from=price.effective_from,
        usd=[UsdTag(tag.each, tag.usd) for tag in tags(kind, price, group)],
        multipliers=PriceMultipliers(written(price.model), written(price.completion), written(price.cached)),
        parts_millionths=price.parts,
    )


def price_view(row: PriceRow, now: datetime, group: int = MILLIONTHS) -> PriceView:
    state = PriceState.ANNOUNCED if row.price.effective_from > now else PriceState.HAS_TAKEN_EFFECT
    return PriceView(
        **msgspec.structs.asdict(figures_view(row.kind, row.price, group)),
        price_id=row.price.id,
        state=state if row.withdrawn_at is None else PriceState.WITHDRAWN,
        announced_at=row.announced_at,
        entered_by=row.entered_by,
        forced_because=row.forced_because,
        withdrawn_at=row.withdrawn_at,
        withdrawn_by=row.withdrawn_by,
        withdraw_reason=row.withdraw_reason,
    )


def effect_view(effect: Effect) -> EffectView:
    return EffectView(
        account=effect.account_id,
        calls=effect.calls,
        charged=amount_of(effect.charged),
        old=amount_of(effect.old),
        new=amount_of(effect.new),
    )
