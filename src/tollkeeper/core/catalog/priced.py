"""What has a price of its own in a row of the price book, and what it costs.

Rules of this file
1. A cost is computed by the formula that charges calls: of what is not set, it is what the formula falls back to.
2. Tokens are told by the million, a call and a use of a vendor's tool by the one.
3. What each call costs is told by itself, and is in no other cost; likewise the tiers, each by its own length.
"""

from collections.abc import Iterator

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.parts import OF_INPUT, OF_OUTPUT, Part, PriceParts, UsageParts
from tollkeeper.core.money.prices import Price, Rate, Usage

MILLION = 1_000_000
INPUT, CACHED, OUTPUT, CALL = "input", "cached", "output", "call"
# What every row has a figure for.
PLAIN = (INPUT, CACHED, OUTPUT)


class PricedItem(msgspec.Struct, frozen=True):
    """`input`, `cached`, `output`, a part's name, or `call`; or the name of a tool."""

    name: str
    # Of calls with more input than this; 0 is for calls below every tier.
    above_tokens: int = 0
    is_tool: bool = False


def beyond_plain(price: Price) -> Iterator[PricedItem]:
    """What a row says beyond its three multipliers: parts that are set, then what each tier makes dearer."""
    parts = price.parts or PriceParts()
    own = [part.value for part in Part if getattr(parts, part.value) is not None]
    yield from map(PricedItem, own)
    if parts.per_call:
        yield PricedItem(CALL)
    for tool in parts.tools:
        yield PricedItem(tool, is_tool=True)
    for tier in parts.tiers:
        for name in (*PLAIN, *own):
            yield PricedItem(name, tier.above_tokens)


def cost(item: PricedItem, price: Price, group: int) -> Quota:
    """What a million tokens of this item, a call as such, or one use of a tool costs."""
    held = price.for_input(item.above_tokens + 1)
    return Rate(held if item == PricedItem(CALL) else without_calls(held), group).charge(_usage(item))


def without_calls(price: Price) -> Price:
    """The price of tokens and uses alone: without the amount per call, and without tiers by length."""
    if price.parts is None:
        return price
    return msgspec.structs.replace(price, parts=msgspec.structs.replace(price.parts, per_call=0, tiers=()))


def _usage(item: PricedItem) -> Usage:
    if item.is_tool:
        return Usage(0, parts=UsageParts(tools={item.name: 1}))
    if item.name in OF_INPUT:
        return Usage(MILLION, parts=msgspec.convert({item.name: MILLION}, UsageParts))
    if item.name in OF_OUTPUT:
        return Usage(0, MILLION, parts=msgspec.convert({item.name: MILLION}, UsageParts))
    return {INPUT: Usage(MILLION), CACHED: Usage(MILLION, 0, MILLION), OUTPUT: Usage(0, MILLION)}.get(
        item.name, Usage(0)
    )
