"""The catalog: which models there are, what they cost from when, and who may use them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.calls.media import MediaLimits, unknown_variant
from tollkeeper.core.errors import ModelNotFound, StoreUnavailable
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.money.prices import Price, Rate, in_force
from tollkeeper.core.money.quote import TokenCaps


class Kind(StrEnum):
    CHAT = "chat"
    IMAGE = "image"
    SPEECH = "speech"
    TRANSCRIPTION = "transcription"
    EMBEDDING = "embedding"


class Unit(StrEnum):
    """What the input and output of a call are counted in."""

    TOKEN = "token"  # noqa: S105 (a model's token)
    IMAGE = "image"
    CHARACTER = "character"
    SECOND = "second"


# By the kind whose units a price is for (`unit_of`).
UNITS: Mapping[Kind, Unit] = {
    Kind.CHAT: Unit.TOKEN,
    Kind.IMAGE: Unit.IMAGE,
    Kind.SPEECH: Unit.CHARACTER,
    Kind.TRANSCRIPTION: Unit.SECOND,
    Kind.EMBEDDING: Unit.TOKEN,
}


def unit_of(kind: Kind, price: Price) -> Kind:
    """The kind whose units a price is for: an image's without a size is for tokens, as those of chat are."""
    return Kind.CHAT if kind is Kind.IMAGE and not price.variant else kind


class Model(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    introduced_at: datetime
    only_groups: frozenset[str] | None
    # The price in force, and those announced.
    prices: tuple[Price, ...]
    token_caps: TokenCaps = TokenCaps()
    media: MediaLimits = MediaLimits()

    def variants(self, now: datetime) -> list[str]:
        """The names of what is for sale at `now`."""
        return list(dict.fromkeys(price.variant for price in self.prices if price.effective_from <= now))

    @property
    def has_one_price(self) -> bool:
        """Whether there is one for all that it does. Images with several are priced by size and quality; those with one
        are priced by token, as text is."""
        return not any(price.variant for price in self.prices)

    def usable_by(self, caller: KeyRecord) -> bool:
        """Open to the caller's group, and not left out by its key."""
        return (self.only_groups is None or caller.group in self.only_groups) and (
            caller.only_models is None or self.id in caller.only_models
        )


class PricedOrder(Protocol):
    """What of an order says which price it has."""

    model: str

    @property
    def variant(self) -> str: ...
    def check_price(self, price: Price, /) -> None:
        """Raise UnsupportedParameter where something is asked for that this price does not have."""


class Offer(msgspec.Struct, frozen=True):
    """A model at the price that it has for one caller, now."""

    model: Model
    rate: Rate


class Shelf(msgspec.Struct, frozen=True):
    """Everything on offer: the models by id, in order; by group, multipliers in millionths and rates."""

    models: Mapping[str, Model]
    groups: Mapping[str, int]
    rates: Mapping[str, Rates] = {}

    def rates_of(self, caller: KeyRecord) -> Rates:
        """What the caller's group may call."""
        found = self.rates.get(caller.group)
        if found is None:
            raise StoreUnavailable
        return found

    def usable(self, caller: KeyRecord, now: datetime) -> list[Model]:
        """The models that `caller` may call at `now`."""
        return [model for model in self.models.values() if model.usable_by(caller) and model.variants(now)]

    def find(self, order: PricedOrder, kind: Kind, caller: KeyRecord, now: datetime) -> Offer:
        """What `caller` gets for an order. Raise ModelNotFound: whether others may use such a model is not told. Raise
        InvalidParameter, UnsupportedParameter where the model is not sold like that."""
        model_id = order.model
        model = self.models.get(model_id)
        if model is None or not model.usable_by(caller):
            raise ModelNotFound(model_id)
        price = in_force(model.prices, now, "" if model.has_one_price else order.variant)
        if price is None and not model.variants(now):
            raise ModelNotFound(model_id)
        if model.kind is not kind:
            raise ModelNotFound(model_id, f"it is a model for {model.kind} calls, not for {kind}")
        if price is None:
            raise unknown_variant(model_id, order.variant, model.variants(now))
        order.check_price(price)
        group = self.groups.get(caller.group)
        if group is None:
            # A group that was made a moment ago, and is not on this shelf yet.
            raise StoreUnavailable
        return Offer(model, Rate(price, group))
