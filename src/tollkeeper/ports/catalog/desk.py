"""The catalog as operators keep it: models, with their first prices."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.calls.media import MediaLimits
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.core.one_line import one_line


class NewPrice(msgspec.Struct, frozen=True, kw_only=True):
    """A row for the price book: in force from now on, or from the instant it names."""

    model: Decimal
    completion: Decimal = Decimal(1)
    cached: Decimal = Decimal(1)
    effective_from: datetime | None = None
    # Of an image, its size and quality.
    variant: str = ""
    parts: PriceParts | None = None


class NewModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    price: NewPrice
    # Prices of further variants.
    more_prices: Sequence[NewPrice] = ()
    token_caps: TokenCaps = TokenCaps()
    media: MediaLimits = MediaLimits()
    only_groups: Collection[str] | None = None

    def __post_init__(self) -> None:
        for text in (self.id, *(price.variant for price in (self.price, *self.more_prices))):
            one_line(text, "The name of a model or of its variant")


class ModelTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What of a model may change, beside its prices. `only_groups`: None is everybody."""

    token_caps: TokenCaps
    media: MediaLimits
    only_groups: Sequence[str] | None


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A model as operators see it, without its prices."""

    id: str
    kind: Kind
    introduced_at: datetime
    # From when on it is not offered.
    hidden_at: datetime | None
    terms: ModelTerms


class ModelQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which models; None leaves a question open. `group`: those that a group may use."""

    model_id: str | None = None
    kind: Kind | None = None
    hidden: bool | None = None
    group: str | None = None


class ModelRemoval(StrEnum):
    REMOVED = "removed"
    UNKNOWN = "unknown"
    CALLED = "called"
    OFFERED = "offered"


class CatalogDesk(Protocol):
    async def add_model(self, model: NewModel, *, actor: str) -> None: ...

    async def chat_models(self) -> Sequence[str]:
        """The ids of those that are offered, the oldest first."""
        ...

    async def models(self, query: ModelQuery, *, after: str | None, limit: int) -> Sequence[ModelRecord]:
        """By id."""
        ...

    async def change_model(
        self, model_id: str, change: Callable[[ModelTerms], ModelTerms], *, actor: str
    ) -> tuple[ModelRecord, bool]:
        """The model as it is now, and whether that is news. Raise NotOnFile."""
        ...

    async def hide_model(self, model_id: str, reason: str, *, hidden: bool, actor: str) -> bool:
        """Offer it no longer, or again; whether that was news. Raise NotOnFile."""
        ...

    async def remove_model(self, model_id: str, reason: str, *, actor: str) -> ModelRemoval:
        """Only one that was never called, and has not been offered for a while."""
        ...
