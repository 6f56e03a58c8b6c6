"""What many acts are asked, and what many give."""

from datetime import datetime
from typing import Annotated, TypeVar

import msgspec

ROW_MOST = 2**63 - 1

AccountNumber = Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The account's number.")]
Usd = Annotated[str, msgspec.Meta(max_length=40, description="In USD, as `10` or `2.50`.")]
# How long it may be, and that it is one line, is checked with the same words for every caller (accounts/reasons).
ReasonText = Annotated[str, msgspec.Meta(description="Why; it stays on the record.")]


# With its zone: without one nobody knows which moment is meant.
Moment = Annotated[datetime, msgspec.Meta(tz=True, description="A time with its zone, as 2026-12-31T18:00:00Z.")]
MaybeMoment = TypeVar("MaybeMoment", bound=datetime | None)
YEARS = range(1970, 9_999)


def checked_moment(at: MaybeMoment) -> MaybeMoment:
    """Raise ValueError for a time so far away that no clock here can tell it."""
    if at is not None and at.year not in YEARS:
        raise ValueError(f"The year {at.year} is out of range: write one from 1970 to 9998. Nothing was done.")
    return at


class NoWish(msgspec.Struct, frozen=True):
    """There is nothing to say beside the act itself."""


class AccountWish(msgspec.Struct, frozen=True, kw_only=True):
    account: AccountNumber


class AccountReason(AccountWish, frozen=True, kw_only=True):
    reason: ReasonText


class Changed(msgspec.Struct, frozen=True):
    """Whether anything is different now."""

    changed: bool
