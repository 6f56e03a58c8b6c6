"""Check every invariant of the books each night (reconciliation), and log each broken one as an error."""

import logging
from collections.abc import Awaitable, Callable

from tollkeeper.core.errors import ForOperators
from tollkeeper.ports.books import BooksReview

log = logging.getLogger(__name__)

# How the job book tells broken books from a check that could not be made.
NOT_CLEAN = "The books are NOT clean"


class BooksNotClean(ForOperators):
    """At least one invariant is broken."""


async def check_the_books(review: Callable[[], Awaitable[BooksReview]]) -> str:
    """What to say of them. Raise BooksNotClean."""
    books = await review()
    broken = [verdict for verdict in books.verdicts if verdict.findings]
    for verdict in broken:
        log.critical("the books are NOT clean: %s: %s", verdict.invariant, verdict.findings[0])
    if broken:
        names = ", ".join(verdict.invariant for verdict in broken)
        raise BooksNotClean(f"{NOT_CLEAN}: {names}. See what was found: tollkeeper books check")
    sealed = "no day is sealed yet" if books.sealed_through is None else f"sealed through {books.sealed_through}"
    return f"clean: {len(books.verdicts)} invariants hold, {sealed}"
