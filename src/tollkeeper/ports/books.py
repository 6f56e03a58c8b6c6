"""The books as operators read them: what a check found, and an account's statement."""

from datetime import date, datetime

import msgspec


class InvariantVerdict(msgspec.Struct, frozen=True):
    """An invariant of the books, and what breaks it."""

    invariant: str
    findings: list[str]


class BooksReview(msgspec.Struct, frozen=True, kw_only=True):
    """A check of the books: every invariant, and which days are sealed."""

    verdicts: list[InvariantVerdict]
    # Up to which day they are sealed now, and the MAC at the end of the chain.
    sealed_through: date | None
    head: str
    # Days that were only compared with their seals, and those that were sealed now.
    days_kept: int
    days_sealed: int

    @property
    def is_clean(self) -> bool:
        return not any(verdict.findings for verdict in self.verdicts)


class Movement(msgspec.Struct, frozen=True):
    """A line of an account's statement."""

    at: datetime
    what: str
    detail: str
    amount: int
    balance: int
