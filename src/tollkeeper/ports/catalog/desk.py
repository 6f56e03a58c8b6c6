"""The catalog as operators keep it: models, with their first prices."""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
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


class CatalogDesk(Protocol):
    async def add_model(self, model: NewModel, *, actor: str) -> None: ...

    async def chat_models(self) -> Sequence[str]:
        """Their ids, the oldest first."""
        ...
