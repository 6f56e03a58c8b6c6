"""The price book as anybody may read it: what each model costs now, what is announced, and what it used to cost.

Rules of this file
1. What was withdrawn stays in the book, as withdrawn: it never was, and never becomes, a price.
2. What is shown in USD is computed by the formula that charges calls.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.catalog.priced import CALL, MILLION, PLAIN, PricedItem, beyond_plain, cost, without_calls
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.price_words import above
from tollkeeper.core.money.prices import Price, Rate, Usage, in_force

# The group of everybody for whom nothing else was arranged.
DEFAULT_GROUP = "standard"


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the book, with when it became known."""

    price: Price
    announced_at: datetime
    withdrawn_at: datetime | None = None

    @property
    def told_at(self) -> datetime:
        """When there was the last news of it."""
        return self.withdrawn_at or self.announced_at


class PricedModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    # By variant, then by when they take effect.
    rows: tuple[Announced, ...]

    def current(self, now: datetime) -> list[Announced]:
        """What holds at `now`, a row for each variant."""
        prices = [row.price for row in self._valid()]
        held = {in_force(prices, now, variant) for variant in dict.fromkeys(price.variant for price in prices)}
        return [row for row in self._valid() if row.price in held]

    def upcoming(self, now: datetime) -> list[Announced]:
        return [row for row in self._valid() if row.price.effective_from > now]

    def past(self, now: datetime) -> list[Announced]:
        """What held before, and what was withdrawn before it could."""
        neither = {row.price.id for row in (*self.current(now), *self.upcoming(now))}
        return [row for row in self.rows if row.price.id not in neither]

    def _valid(self) -> list[Announced]:
        return [row for row in self.rows if row.withdrawn_at is None]


class PriceBook(msgspec.Struct, frozen=True):
    models: tuple[PricedModel, ...]
    # The multiplier of the group whose prices these are, in millionths.
    group: int

    def next_change(self, now: datetime) -> datetime | None:
        """Until then everything stays as it is."""
        return min((row.price.effective_from for model in self.models for row in model.upcoming(now)), default=None)

    def news(self) -> Iterator[tuple[PricedModel, Announced]]:
        """Announcements and withdrawals, the newest first."""
        told = ((model, row) for model in self.models for row in model.rows)
        yield from sorted(told, key=lambda each: (each[1].told_at, each[1].price.id), reverse=True)


class Tag(msgspec.Struct, frozen=True):
    """What something costs, in words and USD."""

    what: str
    usd: str

    @property
    def each(self) -> str:
        """`an image`, `a million input tokens`."""
        return f"{'an' if self.what in WITH_AN else 'a'} {self.what}"


# Where a model has no output that is priced: of how many of its units the price is told, and what so many are called.
COUNTED = {
    Kind.IMAGE: (1, "image"),
    Kind.SPEECH: (MILLION, "million characters"),
    Kind.TRANSCRIPTION: (3_600, "hour"),
    Kind.EMBEDDING: (MILLION, "million input tokens"),
}
WITH_AN = ("image", "hour")
NAMES = {
    "input": "million input tokens",
    "cached": "million cached input tokens",
    "output": "million output tokens",
    Part.WRITTEN_5M: "million input tokens written to a cache for 5 minutes",
    Part.WRITTEN_1H: "million input tokens written to a cache for an hour",
    Part.IMAGE_INPUT: "million image input tokens",
    Part.AUDIO_INPUT: "million audio input tokens",
    Part.IMAGE_OUTPUT: "million image output tokens",
    Part.AUDIO_OUTPUT: "million audio output tokens",
    CALL: "call",
}


def tags(kind: Kind, price: Price, group: int) -> Iterable[Tag]:
    """How a price reads: of tokens and characters, by the million; of sound that is written down, by the hour; then
    what else the row has a figure for."""
    unit = unit_of(kind, price)
    items = [] if unit in COUNTED else [PricedItem(name) for name in PLAIN]
    counted = [Tag(COUNTED[unit][1], usd_exact(unit_cost(kind, price, group)))] if unit in COUNTED else []
    return [*counted, *(_tag(item, price, group) for item in (*items, *beyond_plain(price)))]


def unit_cost(kind: Kind, price: Price, group: int) -> Quota:
    """What an image, a million characters, an hour or a million input tokens cost."""
    unit = unit_of(kind, price)
    return Rate(without_calls(price), group).charge(Usage(COUNTED[unit][0] if unit in COUNTED else MILLION))


def _tag(item: PricedItem, price: Price, group: int) -> Tag:
    what = f"use of {item.name}" if item.is_tool else NAMES[item.name]
    where = f" ({above(item.above_tokens)})" if item.above_tokens else ""
    return Tag(what + where, usd_exact(cost(item, price, group)))
