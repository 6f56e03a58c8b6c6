"""Who checks the books, and under which keys their seals are made."""

import hmac
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date

from tollkeeper.app.database import opened
from tollkeeper.app.secrets import envelope_keys_of
from tollkeeper.jobs.turn_partitions import KEEP_HOLDS
from tollkeeper.ports.books import BooksReview, InvariantVerdict, Movement
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.statement import statement
from tollkeeper.storage.ledger import seal_book
from tollkeeper.storage.ledger.book_review import BookReviewer
from tollkeeper.storage.ledger.books import audit_contains, audit_head
from tollkeeper.storage.ledger.seals import SealKeys
from tollkeeper.storage.postgres.database import Database, DatabaseRole

TRAIL_GOES_ON = "the audit trail goes on from where it was"


class BooksDesk:
    """The books as an operator's commands work with them."""

    def __init__(self, settings: Settings, database: Database, *, actor: str) -> None:
        self._settings = settings
        self._database = database
        self._actor = actor

    async def review(self, *, everything: bool) -> BooksReview:
        reviewer = book_reviewer_of(self._settings, self._database, actor=self._actor)
        return await reviewer.review(everything=everything)

    async def audit_head(self) -> str:
        return await audit_head(self._database)

    async def trail_from(self, head: str) -> InvariantVerdict:
        """Whether the audit trail still has what was its head once."""
        is_there = await audit_contains(self._database, head)
        return InvariantVerdict(TRAIL_GOES_ON, [] if is_there else [f"{head} is not in it any more"])

    async def reopen(self, since: date, reason: str) -> int:
        """Take the seals from that day on away. How many days there were."""
        return await seal_book.reopen(self._database, since, reason, actor=self._actor)

    async def statement(self, account_id: int) -> Sequence[Movement]:
        return await statement(self._database, account_id)

    async def seal_versions(self) -> Mapping[int, int]:
        """How many seals were made under each version of the envelope keys."""
        return await seal_book.versions(self._database)

    async def renew_seals(self) -> seal_book.RenewedSeals:
        """Make every seal anew under the envelope key in use."""
        return await seal_book.renew(self._database, seal_keys_of(self._settings), actor=self._actor)


@asynccontextmanager
async def books_desk(settings: Settings, *, actor: str) -> AsyncIterator[BooksDesk]:
    """Open the books for the length of one command."""
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield BooksDesk(settings, database, actor=actor)


def book_reviewer_of(settings: Settings, database: Database, *, actor: str) -> BookReviewer:
    return BookReviewer(database, seal_keys_of(settings), keep_holds=KEEP_HOLDS, actor=actor)


def seal_keys_of(settings: Settings) -> SealKeys:
    keys = envelope_keys_of(settings)
    derived = {version: hmac.digest(key, b"seals of the books", "sha256") for version, key in keys.by_version.items()}
    return SealKeys(derived, keys.in_use)
