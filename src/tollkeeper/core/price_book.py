"""The price book as anybody may read it: what each model costs now, what is announced, and what it used to cost.

Rules of this file
1. What was withdrawn stays in the book, as withdrawn: it never was, and never becomes, a price.
2. What is shown in USD is computed by the formula that charges calls.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from tollkeeper.core.catalog import Kind
from tollkeeper.core.money import usd_exact
from tollkeeper.core.prices import Price, Rate, Usage, in_force

# The group of everybody for whom nothing else was arranged.
DEFAULT_GROUP = "standard"
MILLION = 1_000_000


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


# What one of its units is called, where a model has no tokens.
UNIT_NAMES = {Kind.IMAGE: "image", Kind.SPEECH: "character", Kind.TRANSCRIPTION: "second"}


def tags(kind: Kind, price: Price, group: int) -> Iterable[Tag]:
    """How a price reads: of tokens, by the million."""
    rate = Rate(price, group)
    if kind is not Kind.CHAT:
        many = 1 if kind is Kind.IMAGE else MILLION
        name = UNIT_NAMES[kind] if many == 1 else f"million {UNIT_NAMES[kind]}s"
        return [Tag(name, usd_exact(rate.charge(Usage(many))))]
    return [
        Tag("million input tokens", usd_exact(rate.charge(Usage(MILLION)))),
        Tag("million cached input tokens", usd_exact(rate.charge(Usage(MILLION, 0, MILLION)))),
        Tag("million output tokens", usd_exact(rate.charge(Usage(0, MILLION)))),
    ]
