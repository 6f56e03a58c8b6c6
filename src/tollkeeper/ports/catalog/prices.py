"""The price book: entered and withdrawn by operators, read by everybody."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import PriceBook
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import Price

# How many input tokens something costs: with at most six decimals where it is typed, and any where it is from USD.
Ratio = Decimal | Fraction


class PreviewTooLong(ValueError):
    """A preview that would keep the database busy for too long; nothing was changed by it."""

    def __init__(self, days: int, seconds: float) -> None:
        fewer = "Ask for fewer days" if days > 1 else "Try again when less is going on"
        super().__init__(
            f"To look at the calls of {days} {'days' if days > 1 else 'day'} takes more than {seconds:.0f} seconds: "
            f"where a price has tiers or tools, they are read one by one. {fewer}. Nothing was changed."
        )


class PriceList(Protocol):
    async def published(self) -> PriceBook:
        """What everybody may know: the models of the default group, with all their prices."""
        ...

    async def for_group(self, group: str) -> PriceBook:
        """What those of a group may know: the models that they may use, at its multiplier. Raise StoreUnavailable for
        a group that is not known here yet."""
        ...


class NewTier(msgspec.Struct, frozen=True, kw_only=True):
    """Multipliers of long calls; what is not named is as for short ones."""

    model: Decimal
    completion: Ratio | None = None
    cached: Ratio | None = None
    # By the names of parts: those that are another share of input than in the row.
    parts: Mapping[str, Ratio] = msgspec.field(default_factory=dict)


class NewParts(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a price: what is not named stays as it is, and None unsets what was set."""

    written_5m: Ratio | UnsetType | None = UNSET
    written_1h: Ratio | UnsetType | None = UNSET
    image_input: Ratio | UnsetType | None = UNSET
    audio_input: Ratio | UnsetType | None = UNSET
    image_output: Ratio | UnsetType | None = UNSET
    audio_output: Ratio | UnsetType | None = UNSET
    per_call: Quota | UnsetType | None = UNSET
    # By the tool's name, and by the length of input above which it holds.
    tools: Mapping[str, Quota | None] = msgspec.field(default_factory=dict)
    tiers: Mapping[int, NewTier | None] = msgspec.field(default_factory=dict)


class NewFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Multipliers and parts of a price; what is not named stays as it is."""

    model: Decimal | None = None
    completion: Ratio | None = None
    cached: Ratio | None = None
    parts: NewParts = NewParts()


class PriceChange(msgspec.Struct, frozen=True, kw_only=True):
    model_id: str
    variant: str
    figures: NewFigures
    # None: as soon as possible.
    effective_from: datetime | None
    notice: timedelta
    # Why it does not wait for its notice.
    forced_because: str | None = None
    # None: as they are; otherwise all of them, as they become.
    parts: PriceParts | None = None
    # The price that it was put together from, 0 where there is none yet. None: whichever is the one before.
    follows: int | None = None


class Entered(StrEnum):
    ENTERED = "entered"
    UNKNOWN_MODEL = "unknown_model"
    NO_FIGURES = "no_figures"
    TOO_SOON = "too_soon"
    TAKEN = "taken"
    # By the time it was to be booked, it would have followed another price.
    OVERTAKEN = "overtaken"


class PriceEntry(msgspec.Struct, frozen=True):
    """What became of a change: what is in the book now, or the earliest that was possible."""

    verdict: Entered
    price: Price | None
    effective_from: datetime | None


class Withdrawn(StrEnum):
    WITHDRAWN = "withdrawn"
    UNKNOWN = "unknown"
    WITHDRAWN_BEFORE = "withdrawn_before"
    IN_FORCE = "in_force"


class PriceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the book as operators see it."""

    price: Price
    kind: Kind
    announced_at: datetime
    entered_by: str | None
    forced_because: str | None
    withdrawn_at: datetime | None
    withdrawn_by: str | None
    withdraw_reason: str | None


class PriceTime(StrEnum):
    """Which prices, by when they hold."""

    ALL = "all"
    # In force, or to come.
    STANDING = "standing"
    IN_FORCE = "in_force"
    COMING = "coming"
    # What held before, and what was withdrawn before it could.
    PAST = "past"


class PriceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of the book. `models`: None is all of them."""

    models: Sequence[str] | None = None
    time: PriceTime = PriceTime.ALL


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Real calls, and what they cost: as they were charged, at the price before a change, and at the one after it."""

    account_id: int | None
    calls: int
    charged: Quota
    old: Quota
    new: Quota


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    old: Price
    new: Price
    # All sums are of the calls that were read. Where there were more than those in all, they are a sample.
    total: Effect
    calls_in_all: int
    # Those for whom it makes the most difference.
    accounts: Sequence[Effect]
    # How many there are in all, and for how many of them it becomes dearer, and cheaper.
    accounts_in_all: int
    dearer_for: int
    cheaper_for: int


class PriceDesk(Protocol):
    async def enter(self, change: PriceChange, *, actor: str) -> PriceEntry:
        """Enter and announce, which is one act."""
        ...

    async def withdraw(self, price_id: int, reason: str, *, actor: str) -> Withdrawn: ...

    async def now(self) -> datetime: ...

    async def older_nodes(self) -> Sequence[str]:
        """Nodes that are alive and of an older version than this process, as `gw-2 (0.1.0)`."""
        ...

    async def rows(self, model_id: str | None) -> Sequence[PriceRow]:
        """All of a model's, withdrawn ones too, or of every model; by model, variant and instant."""
        ...

    async def page(self, query: PriceQuery, *, after_id: int | None, limit: int | None) -> Sequence[PriceRow]:
        """In the same order; those behind a row, all of them where there is no limit."""
        ...

    async def effect(self, old: Price, new: Price, since: timedelta, *, accounts_most: int) -> Preview:
        """What the calls of a model and variant would have cost. Raise PreviewTooLong."""
        ...
