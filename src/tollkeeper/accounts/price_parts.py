"""Parts of a price as an operator names them: checked, and put together with what the row before has.

Rules of this file
1. A part that is not named is taken from the row before; one that is unset costs what it would without it.
2. A price that some node would not charge as it is written is not entered.
3. A longer call never costs less a token than a shorter one: what is held for a call is reckoned at its longest.
"""

import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import msgspec
from msgspec import UNSET

from tollkeeper.core.calls.media import STANDARD
from tollkeeper.core.catalog.priced import PLAIN
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota, plain_decimal, quota_from_usd, usd_typed
from tollkeeper.core.money.parts import Part, PriceParts, PriceTier
from tollkeeper.core.money.price_words import above
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import NewParts, NewTier, PriceDesk, Ratio

MULTIPLIER_BELOW = 10**8
# For one call, or one use of a tool.
AMOUNT_MOST = Quota(1_000 * UNITS_PER_USD)
LENGTH_BELOW = 2**31
TIERS_MOST = 8
TOOLS_MOST = 64
SIZE = re.compile(r"\d{1,5}x\d{1,5}(?: [!-~]{1,40})?")
TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
# Lines of receipts that are no tools.
TAKEN_NAMES = frozenset({*PLAIN, *Part, "call"})


class PriceRefused(ValueError):
    """A price that was not entered or not withdrawn; the message says why."""


def checked_multiplier(figure: Ratio) -> int:
    """In millionths. Raise PriceRefused."""
    finite = isinstance(figure, Fraction) or figure.is_finite()
    if not finite or not 0 <= figure < MULTIPLIER_BELOW or figure != round(figure, 6):
        raise PriceRefused(f"{figure} is not a multiplier: a number of 0 or more with at most six decimals.")
    return int(figure * MILLIONTHS)


def multiplier_typed(text: str) -> Decimal:
    """A multiplier as people type it. Raise PriceRefused."""
    figure = plain_decimal(text)
    if figure is None or not 0 <= figure < MULTIPLIER_BELOW or figure != round(figure, 6):
        raise PriceRefused(f"'{text}' is not a multiplier: a number of 0 or more with at most six decimals.")
    return figure


def checked_size(variant: str) -> str:
    """The size of an image, as the book has it. Raise PriceRefused."""
    if not SIZE.fullmatch(variant):
        raise PriceRefused(f"'{variant}' is not the size of an image: write 1792x1024, or '1792x1024 hd'.")
    return variant.removesuffix(f" {STANDARD}")


def amount_typed(text: str) -> Quota:
    """USD as people type them; it may be nothing. Raise NotAnAmount."""
    usd = usd_typed(text)
    return Quota(0) if usd == 0 else quota_from_usd(usd)


def merged(before: PriceParts | None, wish: NewParts) -> PriceParts:
    """All the parts of the new row. Raise PriceRefused."""
    parts = before or PriceParts()
    named = {part.value: getattr(wish, part.value) for part in Part}
    figures = {
        name: None if figure is None else checked_multiplier(figure)
        for name, figure in named.items()
        if figure is not UNSET
    }
    per_call = parts.per_call if wish.per_call is UNSET else _checked_amount(wish.per_call or Quota(0))
    unset = {name: None for name, figure in figures.items() if figure is None}
    kept = tuple(msgspec.structs.replace(tier, **unset) for tier in parts.tiers)
    tools, tiers = _merged_tools(parts.tools, wish.tools), _merged_tiers(kept, wish.tiers)
    return msgspec.structs.replace(parts, **figures, per_call=per_call, tools=tools, tiers=tiers)


def checked_tiers(price: Price) -> Price:
    """The same price, where no tier is cheaper than what is below it. Raise PriceRefused."""
    tiers = () if price.parts is None else price.parts.tiers
    rows = [price, *(price.for_input(tier.above_tokens + 1) for tier in tiers)]
    for tier, (shorter, longer) in zip(tiers, pairwise(rows), strict=True):
        if any(less > more for less, more in zip(_by_unit(shorter), _by_unit(longer), strict=True)):
            raise PriceRefused(
                f"A token would cost less {above(tier.above_tokens)} than below. Nothing was entered. "
                "Name that tier too, with multipliers that cost no less, or unset it."
            )
    return price


async def check_nodes_know(parts: PriceParts | None, desk: PriceDesk) -> None:
    """Whether every node charges a price as it is written. Raise PriceRefused."""
    if parts is None or not parts.has_later_weights:
        return
    older = await desk.older_nodes()
    if older:
        raise PriceRefused(
            "The book has to write this price in a way that older versions do not know, and nodes that run one would "
            f"charge it wrongly: {', '.join(older)}. Nothing was entered. Upgrade or stop them, wait until they are no "
            "longer among the nodes that are alive, and enter it again."
        )


def _by_unit(price: Price) -> list[int]:
    weights = (price.input, price.cached, price.completion, *map(price.weight, Part))
    return [price.model * weight for weight in weights]


def _merged_tools(before: Mapping[str, int], wish: Mapping[str, Quota | None]) -> dict[str, int]:
    for name in wish:
        if not TOOL_NAME.fullmatch(name) or name in TAKEN_NAMES:
            raise PriceRefused(f"'{name}' is not the name of a tool: write small letters, digits and _, as web_search.")
    tools = {**before, **wish}
    if len(tools) > TOOLS_MOST:
        raise PriceRefused(f"A price has at most {TOOLS_MOST} tools. Nothing was entered.")
    return {name: _checked_amount(amount) for name, amount in sorted(tools.items()) if amount is not None}


def _merged_tiers(before: tuple[PriceTier, ...], wish: Mapping[int, NewTier | None]) -> tuple[PriceTier, ...]:
    """The tiers before and the wished ones, by rising length."""
    tiers: dict[int, PriceTier | None] = {tier.above_tokens: tier for tier in before}
    for length, tier in wish.items():
        tiers[length] = None if tier is None else _tier(length, tier)
    found = tuple(tier for _, tier in sorted(tiers.items()) if tier is not None)
    checked_lengths([tier.above_tokens for tier in found])
    return found


def checked_lengths(lengths: Collection[int]) -> None:
    """Whether a price's tiers can begin there. Raise PriceRefused."""
    for length in lengths:
        if not 0 < length < LENGTH_BELOW:
            raise PriceRefused(f"{length} is not the length of an input: a whole number of tokens above 0.")
    if len(lengths) > TIERS_MOST:
        raise PriceRefused(f"A price has at most {TIERS_MOST} tiers. Nothing was entered.")


def _tier(length: int, tier: NewTier) -> PriceTier:
    found = PriceTier(
        above_tokens=length,
        model=checked_multiplier(tier.model),
        completion=None if tier.completion is None else checked_multiplier(tier.completion),
        cached=None if tier.cached is None else checked_multiplier(tier.cached),
    )
    return msgspec.structs.replace(found, **{name: checked_multiplier(each) for name, each in tier.parts.items()})


def _checked_amount(amount: int) -> int:
    if not 0 <= amount <= AMOUNT_MOST:
        raise PriceRefused("A call, or a use of a tool, costs from 0 to 1,000 USD. Nothing was entered.")
    return amount
