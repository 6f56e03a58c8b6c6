"""Provider accounts in figures, by hour."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.pool.latency import percentile_ms


class AttemptFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts added up: how many failed, how many answered a call, and what those came to."""

    attempts: int
    failed: int
    delivered: int
    input_units: int
    output_units: int
    charged: Quota
    cost: Quota
    # Times to the first byte, in the buckets of `core/pool/latency`.
    first_byte: Sequence[int]

    def first_byte_ms(self, percent: float) -> int | None:
        return percentile_ms(self.first_byte, percent)


class HourFigures(msgspec.Struct, frozen=True):
    hour: datetime
    figures: AttemptFigures


class AccountModelFigures(msgspec.Struct, frozen=True):
    account: str
    model: str
    figures: AttemptFigures


class FailureFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts of one hour that failed in one way."""

    hour: datetime
    failure: str
    times: int
    # Those after which no other attempt was made: the caller heard of them.
    for_callers: int
    # Those of them whose calls had no answer at all; the others broke off in their answers.
    unanswered: int


class ProviderFigures(Protocol):
    async def by_hour(self, hours: int, account: str = "") -> Sequence[HourFigures]:
        """The last so many hours with the one that runs, the oldest first, of all accounts or of one. An hour without
        an attempt is left out."""
        ...

    async def by_model(self, hours: int, account: str = "") -> Sequence[AccountModelFigures]:
        """The same hours by account and model."""
        ...

    async def calls_by_model(self, hours: int) -> Mapping[str, int]:
        """How many calls were answered in the same hours, by model."""
        ...

    async def failures(self, hours: int, account: str = "") -> Sequence[FailureFigures]:
        """The same hours by kind of failure."""
        ...
