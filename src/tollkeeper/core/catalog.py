"""The catalog: which models there are, what they cost from when, and who may use them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from tollkeeper.core.errors import ModelNotFound, StoreUnavailable
from tollkeeper.core.keys import KeyRecord
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

    def usable_by(self, caller: KeyRecord) -> bool:
        """Open to the caller's group, and not left out by its key."""
        return (self.only_groups is None or caller.group in self.only_groups) and (
            caller.only_models is None or self.id in caller.only_models
        )


class Offer(msgspec.Struct, frozen=True):
    """A model at the price that it has for one caller, now."""

    model: Model
    rate: Rate


class Shelf(msgspec.Struct, frozen=True):
    """Everything on offer: the models by id, in order, and the multipliers of groups in millionths."""

    models: Mapping[str, Model]
    groups: Mapping[str, int]

    def usable(self, caller: KeyRecord, now: datetime) -> list[Model]:
        """The models that `caller` may call at `now`."""
        return [
            model
            for model in self.models.values()
            if model.usable_by(caller) and in_force(model.prices, now) is not None
        ]

    def find(self, model_id: str, kind: Kind, caller: KeyRecord, now: datetime) -> Offer:
        """What `caller` gets under that name. Raise ModelNotFound: whether others may use such a model is not told."""
        model = self.models.get(model_id)
        if model is None or not model.usable_by(caller):
            raise ModelNotFound(model_id)
        price = in_force(model.prices, now)
        if price is None:
            raise ModelNotFound(model_id)
        if model.kind is not kind:
            raise ModelNotFound(model_id, f"it is a model for {model.kind} calls, not for {kind}")
        group = self.groups.get(caller.group)
        if group is None:
            # A group that was made a moment ago, and is not on this shelf yet.
            raise StoreUnavailable
        return Offer(model, Rate(price, group))
