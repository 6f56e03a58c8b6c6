"""The model catalog: what is offered, to whom, and within which limits.

Rules of this file
1. An id may have a slash in it, so it stands in the body or after the question mark, never in the path.
2. A hidden model is to callers one that does not exist. Its price book stays as it is, and so does every receipt.
3. A model that was ever called is never removed: receipts need its prices.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.accounts.new_models import first_prices
from tollkeeper.accounts.price_parts import PriceRefused, check_nodes_know, multiplier_typed
from tollkeeper.accounts.price_usd import figures_in_usd, unit_multiplier, usd_price_typed, with_usd
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.calls.media import MediaLimits
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.prices import MILLIONTHS
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.core.one_line import one_line
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.price_views import PriceFigures, figures_view
from tollkeeper.office.price_wishes import FiguresWish, Multiplier, figures_wished
from tollkeeper.office.prices import GroupOrNone, ModelId, Variant, group_millionths
from tollkeeper.office.wishes import Changed, ReasonText, Usd
from tollkeeper.ports import NewModel, NotOnFile, StillInUse
from tollkeeper.ports.catalog.desk import ModelQuery, ModelRecord, ModelRemoval, ModelTerms
from tollkeeper.ports.catalog.prices import NewFigures, PriceQuery, PriceTime

DAY_HOURS = 24

TokenCount = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Voices = Annotated[list[Annotated[str, msgspec.Meta(min_length=1, max_length=64)]], msgspec.Meta(max_length=200)]
GroupNames = Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=200)]


class ModelsWish(Paging, frozen=True, kw_only=True):
    """Which models; what is not said leaves a question open."""

    kind: Kind | None = None
    hidden: bool | None = None
    # Models that it may use, at its multiplier.
    group: GroupOrNone = ""


class ModelWish(msgspec.Struct, frozen=True, kw_only=True):
    model: ModelId
    group: GroupOrNone = ""


class ModelReason(msgspec.Struct, frozen=True, kw_only=True):
    model: ModelId
    reason: ReasonText


class ModelLimitsWish(msgspec.Struct, frozen=True, kw_only=True):
    """What is not named is as it was; of a new model, as is usual."""

    context_tokens: TokenCount | None = None
    max_output_tokens: TokenCount | None = None
    hold_output_tokens: TokenCount | None = None
    hold_part_tokens: TokenCount | None = None
    hidden_reasoning: bool | None = None
    images_most: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    characters_most: Annotated[int, msgspec.Meta(ge=1, le=10**6)] | None = None
    voices: Voices | None = None
    reason: ReasonText = ""


class ModelChangeWish(ModelLimitsWish, frozen=True, kw_only=True):
    model: ModelId
    # Null: everybody may use it.
    only_groups: GroupNames | UnsetType | None = UNSET


class SizePrice(msgspec.Struct, frozen=True, kw_only=True):
    """What one image of a size and quality costs: in USD, or in quota tokens, of which 500,000 are 1 USD."""

    variant: Variant
    quota_tokens: Multiplier | None = None
    usd: Usd | None = None


class NewModelWish(ModelLimitsWish, frozen=True, kw_only=True):
    model: ModelId
    kind: Kind = Kind.CHAT
    price: FiguresWish = FiguresWish()
    # Images have a price for each size, or one by token.
    sizes: Annotated[list[SizePrice], msgspec.Meta(max_length=200)] = msgspec.field(default_factory=list)
    by_token: bool = False
    only_groups: GroupNames | None = None


class AddedModel(msgspec.Struct, frozen=True, kw_only=True):
    """`proposed`: parts of the price that nobody named and that were set, as the vendor is known to price them."""

    model: str
    proposed: Sequence[str]
    source: str
    hint: str
    # The options of `price enter` by which all of that is unset.
    undone_by: Sequence[str]


class ModelView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    introduced_at: datetime
    # Null: it is offered.
    hidden_at: datetime | None
    # Null: everybody may use it.
    only_groups: Sequence[str] | None
    # In force now: one, or of images one for each size and quality.
    prices: Sequence[PriceFigures]
    announced: Sequence[PriceFigures]
    token_caps: TokenCaps
    media: MediaLimits
    # The provider accounts that serve it, whether or not they take calls now.
    served_by: Sequence[str]
    # Calls that were answered in the last 24 hours.
    calls_last_day: int


@act("GET", "/models", Scope.READ)
async def list_models(office: Office, wish: ModelsWish, by: Actor) -> Listed[ModelView]:
    """Models with their prices in USD, their limits, who may use them, and whether they are offered."""
    group = await group_millionths(office, wish.group)
    query = ModelQuery(kind=wish.kind, hidden=wish.hidden, group=wish.group or None)
    found = await office.catalog.models(query, after=wish.after_name(), limit=wish.limit + 1)
    return listed(await _views(office, found, group), wish.limit, lambda model: model.id)


@act("GET", "/model", Scope.READ)
async def show_model(office: Office, wish: ModelWish, by: Actor) -> ModelView:
    """One model, with its prices in USD and its limits."""
    group = await group_millionths(office, wish.group)
    found = await office.catalog.models(ModelQuery(model_id=wish.model), after=None, limit=1)
    if not found:
        raise NotOnFile(f"There is no model '{wish.model}'.")
    [view] = await _views(office, found, group)
    return view


@act("POST", "/models", Scope.CATALOG)
async def add_model(office: Office, wish: NewModelWish, by: Actor) -> AddedModel:
    """Offer a model, priced from now on. Of what a vendor is known to price apart, parts are proposed and set."""
    sizes = {size.variant: _quota_tokens(size) for size in wish.sizes}
    if len(sizes) < len(wish.sizes):
        raise PriceRefused("The price of a size stands there twice. Nothing was added.")
    first = first_prices(wish.model, wish.kind, _first_figures(wish), sizes, by_token=wish.by_token)
    terms = _limited(ModelTerms(token_caps=TokenCaps(), media=MediaLimits(), only_groups=wish.only_groups), wish)
    model = NewModel(
        id=wish.model,
        kind=wish.kind,
        price=first.prices[0],
        more_prices=first.prices[1:],
        token_caps=terms.token_caps,
        media=terms.media,
        only_groups=wish.only_groups,
    )
    await check_nodes_know(model.price.parts, office.prices)
    await office.catalog.add_model(model, actor=by.name)
    filled = first.filled
    return AddedModel(
        model=wish.model,
        proposed=filled.proposed,
        source=filled.source,
        hint=filled.hint,
        undone_by=filled.undone_by,
    )


@act("POST", "/model/change", Scope.CATALOG)
async def change_model(office: Office, wish: ModelChangeWish, by: Actor) -> Changed:
    """Change a model's limits, or who may use it, on every node within two seconds. What is not named stays."""

    def change(terms: ModelTerms) -> ModelTerms:
        groups = terms.only_groups if wish.only_groups is UNSET else wish.only_groups
        only_groups = None if groups is None else sorted(set(groups))
        return msgspec.structs.replace(_limited(terms, wish), only_groups=only_groups)

    _, changed = await office.catalog.change_model(wish.model, change, actor=by.name)
    return Changed(changed)


@act("POST", "/model/hide", Scope.CATALOG)
async def hide_model(office: Office, wish: ModelReason, by: Actor) -> Changed:
    """Offer a model no longer: calls to it are refused as to one that does not exist. Its prices stay in the book."""
    reason = checked_reason(wish.reason)
    return Changed(await office.catalog.hide_model(wish.model, reason, hidden=True, actor=by.name))


@act("POST", "/model/unhide", Scope.CATALOG)
async def unhide_model(office: Office, wish: ModelReason, by: Actor) -> Changed:
    """Offer a model again, at the price that its book has for now."""
    reason = checked_reason(wish.reason)
    return Changed(await office.catalog.hide_model(wish.model, reason, hidden=False, actor=by.name))


@act("POST", "/model/remove", Scope.CATALOG)
async def remove_model(office: Office, wish: ModelReason, by: Actor) -> Changed:
    """Remove a model that was never called, with its prices. It must have been hidden for a minute."""
    verdict = await office.catalog.remove_model(wish.model, checked_reason(wish.reason), actor=by.name)
    if verdict is ModelRemoval.UNKNOWN:
        raise NotOnFile(f"There is no model '{wish.model}'. Nothing was removed.")
    if verdict is ModelRemoval.CALLED:
        raise StillInUse(
            f"'{wish.model}' was called, and receipts need its prices. Nothing was removed. It can be hidden instead."
        )
    if verdict is ModelRemoval.OFFERED:
        raise StillInUse(
            f"'{wish.model}' is offered, or was a minute ago, and a call to it may just begin. Nothing was removed. "
            "Hide it, wait for a minute, and remove it then."
        )
    return Changed(changed=True)


def _quota_tokens(size: SizePrice) -> Decimal:
    """Raise PriceRefused."""
    if (size.usd is None) is (size.quota_tokens is None):
        raise PriceRefused(f"Say what an image of {size.variant} costs, in USD or in quota tokens. Nothing was added.")
    if size.usd is not None:
        return unit_multiplier(usd_price_typed(size.usd), Kind.IMAGE)
    return multiplier_typed(size.quota_tokens or "")


def _first_figures(wish: NewModelWish) -> NewFigures:
    """Raise PriceRefused."""
    figures, usd = figures_wished(wish.price), wish.price.usd.typed()
    if not usd:
        return figures
    found = figures_in_usd(usd, Kind.CHAT if wish.by_token else wish.kind, None)
    return with_usd(figures, found)


def _limited(terms: ModelTerms, wish: ModelLimitsWish) -> ModelTerms:
    """The terms, with what of their limits is named."""
    for voice in wish.voices or ():
        one_line(voice, "The name of a voice")
    caps = {name: getattr(wish, name) for name in TokenCaps.__struct_fields__}
    media = {name: getattr(wish, name) for name in ("images_most", "characters_most")}
    media["voices"] = tuple(wish.voices) if wish.voices else None
    return msgspec.structs.replace(
        terms,
        token_caps=msgspec.structs.replace(terms.token_caps, **_named(caps)),
        media=msgspec.structs.replace(terms.media, **_named(media)),
    )


def _named(given: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}


async def _views(office: Office, models: Sequence[ModelRecord], group: int = MILLIONTHS) -> list[ModelView]:
    now = await office.prices.now()
    query = PriceQuery(models=[model.id for model in models], time=PriceTime.STANDING)
    rows = await office.prices.page(query, after_id=None, limit=None)
    prices = {model_id: list(each) for model_id, each in groupby(rows, key=lambda row: row.price.model_id)}
    providers, calls = await office.providers.records(), await office.figures.calls_by_model(DAY_HOURS)
    return [
        _view(
            model,
            [figures_view(row.kind, row.price, group) for row in prices.get(model.id, [])],
            now,
            served_by=sorted(each.name for each in providers if each.serves(model.id)),
            calls_last_day=calls.get(model.id, 0),
        )
        for model in models
    ]


def _view(
    model: ModelRecord, figures: Sequence[PriceFigures], now: datetime, *, served_by: Sequence[str], calls_last_day: int
) -> ModelView:
    return ModelView(
        id=model.id,
        kind=model.kind,
        introduced_at=model.introduced_at,
        hidden_at=model.hidden_at,
        only_groups=model.terms.only_groups,
        prices=[each for each in figures if each.effective_from <= now],
        announced=[each for each in figures if each.effective_from > now],
        token_caps=model.terms.token_caps,
        media=model.terms.media,
        served_by=served_by,
        calls_last_day=calls_last_day,
    )


ACTS = (list_models, show_model, add_model, change_model, hide_model, unhide_model, remove_model)
