"""Check every invariant of the books, each night; what is broken is told, loudly."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tollkeeper.core.errors import ForOperators

log = logging.getLogger(__name__)


class Verdict(Protocol):
    @property
    def invariant(self) -> str: ...
    @property
    def findings(self) -> Sequence[str]: ...


class BooksNotClean(ForOperators):
    """At least one invariant is broken."""


async def check_the_books(check: Callable[[], Awaitable[Sequence[Verdict]]]) -> str:
    """What to say of them. Raise BooksNotClean."""
    verdicts = await check()
    broken = [verdict for verdict in verdicts if verdict.findings]
    for verdict in broken:
        log.critical("the books are NOT clean: %s: %s", verdict.invariant, verdict.findings[0])
    if broken:
        names = ", ".join(verdict.invariant for verdict in broken)
        raise BooksNotClean(f"The books are NOT clean: {names}. See what was found: tollkeeper books check")
    return f"clean: {len(verdicts)} invariants hold"
