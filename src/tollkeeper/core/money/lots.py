"""Quota lots: what a credit becomes, and the order in which it is spent.

Rules of this file
1. A lot never changes size; spending is recorded as draws against it.
2. A key draws the lots bound to it first. Then lots are drawn soonest-expiring first, so nothing lapses that could have
   been used.
3. An expired lot cannot be drawn, even before it is closed.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from tollkeeper.core.money.amounts import Quota


class Lot(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    remaining: Quota
    expires_at: datetime
    key_id: int | None = None


class Draw(msgspec.Struct, frozen=True):
    lot_id: int
    amount: Quota


def drawable(lots: Iterable[Lot], key_id: int | None, now: datetime) -> list[Lot]:
    """What `key_id` may draw at `now`, in the order of drawing. No key: the lots bound to none."""
    open_lots = (lot for lot in lots if lot.remaining > 0 and lot.expires_at > now and lot.key_id in {None, key_id})
    return sorted(open_lots, key=lambda lot: (lot.key_id is None, lot.expires_at, lot.id))


def draw(lots: Sequence[Lot], amount: int) -> list[Draw]:
    """Take up to `amount` from `lots` in their order."""
    draws = []
    for lot in lots:
        part = min(lot.remaining, amount)
        if part > 0:
            draws.append(Draw(lot.id, Quota(part)))
            amount -= part
    return draws


def split(draws: Sequence[Draw], charge: int) -> list[tuple[Draw, Quota]]:
    """For each draw, how much of it a charge consumes: the earliest draws first."""
    parts = []
    for taken in draws:
        part = min(taken.amount, charge)
        parts.append((taken, Quota(part)))
        charge -= part
    return parts
