"""The catalog: which models there are, what they cost from when, and who may use them."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from tollkeeper.core.keys import KeyRecord


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
    priced_from: datetime


def usable(models: Iterable[Model], caller: KeyRecord, now: datetime) -> list[Model]:
    """The models that `caller` may call at `now`: priced, open to its group, not left out by its key."""
    return [
        model
        for model in models
        if model.priced_from <= now
        and (model.only_groups is None or caller.group in model.only_groups)
        and (caller.only_models is None or model.id in caller.only_models)
    ]
