"""The catalog: which models there are, what they cost from when, and who may use them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.errors import ModelNotFound, StoreUnavailable
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits import Rates
from tollkeeper.core.media import MediaLimits, unknown_variant
from tollkeeper.core.prices import Price, Rate, in_force
from tollkeeper.core.quote import TokenLimits


class Kind(StrEnum):
    CHAT = "chat"
    IMAGE = "image"
    SPEECH = "speech"
    TRANSCRIPTION = "transcription"


class Model(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    introduced_at: datetime
    only_groups: frozenset[str] | None
    # The price in force, and those announced.
    prices: tuple[Price, ...]
    limits: TokenLimits = TokenLimits()
    media: MediaLimits = MediaLimits()

    def variants(self, now: datetime) -> list[str]:
        """The names of what is for sale at `now`."""
        return list(dict.fromkeys(price.variant for price in self.prices if price.effective_from <= now))

    def usable_by(self, caller: KeyRecord) -> bool:
        """Open to the caller's group, and not left out by its key."""
        return (self.only_groups is None or caller.group in self.only_groups) and (
            caller.only_models is None or self.id in caller.only_models
        )


class Order(Protocol):
    """What of an order says which price it has."""

    model: str

    @property
    def variant(self) -> str: ...


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

    def find(self, order: Order, kind: Kind, caller: KeyRecord, now: datetime) -> Offer:
        """What `caller` gets for an order. Raise ModelNotFound: whether others may use such a model is not told. Raise
        InvalidParameter where the model is not sold like that."""
        model_id = order.model
        model = self.models.get(model_id)
        if model is None or not model.usable_by(caller):
            raise ModelNotFound(model_id)
        price = in_force(model.prices, now, order.variant)
        if price is None and not model.variants(now):
            raise ModelNotFound(model_id)
        if model.kind is not kind:
            raise ModelNotFound(model_id, f"it is a model for {model.kind} calls, not for {kind}")
        if price is None:
            raise unknown_variant(model_id, order.variant, model.variants(now))
        group = self.groups.get(caller.group)
        if group is None:
            # A group that was made a moment ago, and is not on this shelf yet.
            raise StoreUnavailable
        return Offer(model, Rate(price, group))
