"""The form of a price change: what a price is now, as it would be typed in USD, and when another one can hold.

Rules of this file
1. Texts are exact: sent back as they are, they change nothing.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tollkeeper.accounts.price_usd import TYPED, UNIT, WORDS, usd_of
from tollkeeper.accounts.prices import price_to_follow
from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.catalog.price_book import COUNTED
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.price_words import above
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


class PriceForm(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    variant: str
    kind: Kind
    fields: Sequence[UsdField]
    # What each call costs beside its tokens; empty: nothing.
    per_call_usd: str
    # Only of models that are priced by token.
    has_per_call: bool
    # Figures that stay as they are, in words.
    beside: Sequence[str]
    # The soonest that a change takes effect without being forced.
    earliest: datetime


@act("GET", "/prices/form", Scope.READ)
async def show_price_form(office: Office, wish: PriceFormWish, by: Actor) -> PriceForm:
    """A price in USD as it would be typed: what a change begins with."""
    found = await office.catalog.models(ModelQuery(model_id=wish.model), after=None, limit=1)
    price = await price_to_follow(wish.model, wish.variant, office.price_notice, office.prices)
    if not found or price is None:
        raise NotOnFile(f"The model '{wish.model}' has no such price.")
    unit = unit_of(found[0].kind, price)
    usd = usd_of(price, unit)
    names = [UNIT] if unit in COUNTED else [UNIT, *WORDS]
    parts = price.parts
    per_call = 0 if parts is None else parts.per_call
    return PriceForm(
        model=wish.model,
        variant=wish.variant,
        kind=found[0].kind,
        fields=[UsdField(name=name, each=WORDS.get(name, TYPED[unit][1]), usd=usd.get(name, "")) for name in names],
        per_call_usd=usd_exact(Quota(per_call)) if per_call else "",
        has_per_call=unit is Kind.CHAT,
        beside=[] if parts is None else [*map(_use, parts.tools), *(above(tier.above_tokens) for tier in parts.tiers)],
        earliest=await office.prices.now() + office.price_notice,
    )


def _use(tool: str) -> str:
    return f"a use of {tool}"


ACTS = (show_price_form,)
