"""Instants that are wished for: with a zone, and within what the books can keep."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

FIRST_YEAR, LAST_YEAR = 2000, 2999

Instant = Annotated[datetime, msgspec.Meta(tz=True, description="As 2026-12-31T18:00:00Z.")]


def in_reach(at: datetime) -> datetime:
    """The same instant, in UTC. Raise ValueError."""
    if not FIRST_YEAR < at.year < LAST_YEAR + 1:
        raise ValueError(f"{at.isoformat()} is out of reach: name a year from {FIRST_YEAR + 1} to {LAST_YEAR}.")
    return at.astimezone(UTC)
