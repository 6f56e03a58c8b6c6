"""Figures of prices as they are wished for: texts of exact numbers, so that no float ever comes near a price."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.accounts.price_parts import PriceRefused, amount_typed, multiplier_typed
from tollkeeper.accounts.price_usd import UNIT, WORDS, UsdPrices
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.money.parts import Part
from tollkeeper.office.wishes import Usd
from tollkeeper.ports.catalog.prices import NewFigures, NewParts, NewTier

TEXT_MOST = 2**31 - 1
# What of a row has a price in USD.
USD_NAMES = (UNIT, *WORDS)
TWICE = "A tier stands there twice. Nothing was done."

Multiplier = Annotated[
    str, msgspec.Meta(max_length=40, description="A number of 0 or more with at most six decimals, as `1.25`.")
]
ToolName = Annotated[str, msgspec.Meta(max_length=64)]
Read = TypeVar("Read")


class TierWish(msgspec.Struct, frozen=True, kw_only=True):
    """Multipliers of calls with more input than that; without one, the tier ends."""

    above_tokens: Annotated[int, msgspec.Meta(ge=0, le=TEXT_MOST)]
    multiplier: Multiplier | None
    completion: Multiplier | None = None
    cached: Multiplier | None = None


class PartsWish(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a price: what is not named stays as it is, and null unsets what was set."""

    written_5m: Multiplier | UnsetType | None = UNSET
    written_1h: Multiplier | UnsetType | None = UNSET
    image_input: Multiplier | UnsetType | None = UNSET
    audio_input: Multiplier | UnsetType | None = UNSET
    image_output: Multiplier | UnsetType | None = UNSET
    audio_output: Multiplier | UnsetType | None = UNSET
    per_call_usd: Usd | UnsetType | None = UNSET
    tools_usd: Annotated[dict[ToolName, Usd | None], msgspec.Meta(max_length=100)] = msgspec.field(default_factory=dict)
    tiers: Annotated[list[TierWish], msgspec.Meta(max_length=20)] = msgspec.field(default_factory=list)


class UsdTierWish(msgspec.Struct, frozen=True, kw_only=True):
    """What calls with more input than that cost in USD, for a million tokens; without `unit`, the price of input, the
    tier ends. What is not named is as large a share of input as below it."""

    above_tokens: Annotated[int, msgspec.Meta(ge=0, le=TEXT_MOST)]
    unit: Usd | None
    output: Usd | None = None
    cached: Usd | None = None

    def named(self) -> dict[str, str]:
        texts = {"unit": self.unit, "output": self.output, "cached": self.cached}
        return {} if self.unit is None else {name: text for name, text in texts.items() if text is not None}


class UsdPricesWish(msgspec.Struct, frozen=True, kw_only=True):
    """Prices in USD. `unit` is for what the model is counted in: a million input tokens or characters, an image, a
    minute; the others are for a million tokens. They are charged exactly, or refused. What is not named keeps its price
    in USD; `none`, of cached input and parts, leaves them without a price of their own."""

    unit: Usd | None = None
    cached: Usd | None = None
    output: Usd | None = None
    written_5m: Usd | None = None
    written_1h: Usd | None = None
    image_input: Usd | None = None
    audio_input: Usd | None = None
    image_output: Usd | None = None
    audio_output: Usd | None = None
    tiers: Annotated[list[UsdTierWish], msgspec.Meta(max_length=20)] = msgspec.field(default_factory=list)

    def typed(self) -> UsdPrices:
        """Raise PriceRefused."""
        named = {name: text for name in USD_NAMES if (text := getattr(self, name)) is not None}
        if len({tier.above_tokens for tier in self.tiers}) < len(self.tiers):
            raise PriceRefused(TWICE)
        return UsdPrices(named, {tier.above_tokens: tier.named() for tier in self.tiers})


class FiguresWish(msgspec.Struct, frozen=True, kw_only=True):
    """Multipliers and parts of a price; what is not named stays as it is. A multiplier of 1 is 2 USD for a million
    tokens: `multiplier` is for input, the others are how many input tokens an output or a cached one costs."""

    multiplier: Multiplier | None = None
    completion: Multiplier | None = None
    cached: Multiplier | None = None
    parts: PartsWish = PartsWish()
    # Instead of multipliers.
    usd: UsdPricesWish = UsdPricesWish()


def figures_wished(wish: FiguresWish) -> NewFigures:
    """Raise PriceRefused, or NotAnAmount."""
    return NewFigures(
        model=_or_none(wish.multiplier, multiplier_typed),
        completion=_or_none(wish.completion, multiplier_typed),
        cached=_or_none(wish.cached, multiplier_typed),
        parts=_parts(wish.parts),
    )


def wish_for(figures: NewFigures) -> FiguresWish:
    """The wish that is read as these figures."""
    parts = figures.parts
    own = {part.value: getattr(parts, part.value) for part in Part}
    return FiguresWish(
        multiplier=_or_none(figures.model, _text),
        completion=_or_none(figures.completion, _text),
        cached=_or_none(figures.cached, _text),
        parts=msgspec.structs.replace(
            PartsWish(),
            **{name: each if each is UNSET else _or_none(each, _text) for name, each in own.items()},
            per_call_usd=UNSET if parts.per_call is UNSET else _or_none(parts.per_call, usd_exact),
            tools_usd={name: _or_none(amount, usd_exact) for name, amount in parts.tools.items()},
            tiers=[_tier_wish(length, tier) for length, tier in parts.tiers.items()],
        ),
    )


def _parts(wish: PartsWish) -> NewParts:
    own = {part.value: getattr(wish, part.value) for part in Part}
    if len({tier.above_tokens for tier in wish.tiers}) < len(wish.tiers):
        raise PriceRefused(TWICE)
    return msgspec.structs.replace(
        NewParts(),
        **{name: each if each is UNSET else _or_none(each, multiplier_typed) for name, each in own.items()},
        per_call=UNSET if wish.per_call_usd is UNSET else _or_none(wish.per_call_usd, amount_typed),
        tools={name: _or_none(amount, amount_typed) for name, amount in wish.tools_usd.items()},
        tiers={tier.above_tokens: _tier(tier) for tier in wish.tiers},
    )


def _tier(wish: TierWish) -> NewTier | None:
    if wish.multiplier is None:
        return None
    completion, cached = (_or_none(text, multiplier_typed) for text in (wish.completion, wish.cached))
    return NewTier(model=multiplier_typed(wish.multiplier), completion=completion, cached=cached)


def _tier_wish(length: int, tier: NewTier | None) -> TierWish:
    if tier is None:
        return TierWish(above_tokens=length, multiplier=None)
    completion, cached = (_or_none(figure, _text) for figure in (tier.completion, tier.cached))
    return TierWish(above_tokens=length, multiplier=_text(tier.model), completion=completion, cached=cached)


def _or_none(given: object, read: Callable[..., Read]) -> Read | None:
    return None if given is None else read(given)


def _text(figure: Decimal) -> str:
    return f"{figure:f}"
