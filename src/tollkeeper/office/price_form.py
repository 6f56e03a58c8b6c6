"""The form of a price change: what a price is now, as it would be typed in USD, and when another one can hold.

Rules of this file
1. Texts are exact: sent back as they are, they change nothing.
2. A model of images that is priced by size has a form for a size that it has no price for yet, too.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tollkeeper.accounts.price_usd import TYPED, UNIT, WORDS, usd_of, usd_of_tiers
from tollkeeper.accounts.prices import price_to_follow
from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.catalog.price_book import COUNTED
from tollkeeper.core.catalog.priced import CACHED, OUTPUT
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import Price
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.prices import ModelId, Variant
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.catalog.desk import ModelQuery


class PriceFormWish(msgspec.Struct, frozen=True, kw_only=True):
    model: ModelId
    variant: Variant = ""


class UsdField(msgspec.Struct, frozen=True, kw_only=True):
    """A price in USD: its name in `usd` of a change, what it is for, and what it is; empty where it has none."""

    name: str
    each: str
    usd: str


class UsdTier(msgspec.Struct, frozen=True, kw_only=True):
    """What a million tokens cost where a call has more input. Without a price of its own, cached input costs what input
    does, and its text is empty."""

    above_tokens: int
    unit: str
    cached: str
    output: str


class UsdTool(msgspec.Struct, frozen=True, kw_only=True):
    """What one use of a vendor's tool costs."""

    name: str
    usd: str


class PriceForm(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    variant: str
    kind: Kind
    fields: Sequence[UsdField]
    # What each call costs beside its tokens; empty: nothing.
    per_call_usd: str
    # Only of models that are priced by token.
    has_per_call: bool
    # These, too.
    tiers: Sequence[UsdTier]
    tools: Sequence[UsdTool]
    # There is no such price yet: of images, this size is new.
    is_new: bool
    # The soonest that a change takes effect without being forced.
    earliest: datetime


@act("GET", "/prices/form", Scope.READ)
async def show_price_form(office: Office, wish: PriceFormWish, by: Actor) -> PriceForm:
    """A price in USD as it would be typed: what a change begins with."""
    found = await office.catalog.models(ModelQuery(model_id=wish.model), after=None, limit=1)
    price = await price_to_follow(wish.model, wish.variant, office.price_notice, office.prices)
    if not found or (price is None and not await _has_sizes(office, wish.model, found[0].kind)):
        raise NotOnFile(f"The model '{wish.model}' has no such price.")
    kind, now = found[0].kind, await office.prices.now()
    unit = Kind.IMAGE if price is None else unit_of(kind, price)
    usd = {} if price is None else usd_of(price, unit)
    names = [UNIT] if unit in COUNTED else [UNIT, *WORDS]
    parts = PriceParts() if price is None or price.parts is None else price.parts
    return PriceForm(
        model=wish.model,
        variant=wish.variant,
        kind=kind,
        fields=[UsdField(name=name, each=WORDS.get(name, TYPED[unit][1]), usd=usd.get(name, "")) for name in names],
        per_call_usd=usd_exact(Quota(parts.per_call)) if parts.per_call else "",
        has_per_call=unit is Kind.CHAT,
        tiers=[] if price is None else _tiers(price),
        tools=[UsdTool(name=name, usd=usd_exact(Quota(amount))) for name, amount in parts.tools.items()],
        is_new=price is None,
        # What has no price yet needs no notice.
        earliest=now if price is None else now + office.price_notice,
    )


def _tiers(price: Price) -> list[UsdTier]:
    return [
        UsdTier(above_tokens=length, unit=usd[UNIT], cached=usd.get(CACHED, ""), output=usd[OUTPUT])
        for length, usd in usd_of_tiers(price).items()
    ]


async def _has_sizes(office: Office, model_id: str, kind: Kind) -> bool:
    rows = await office.prices.rows(model_id) if kind is Kind.IMAGE else []
    return any(row.price.variant for row in rows if row.withdrawn_at is None)


ACTS = (show_price_form,)
