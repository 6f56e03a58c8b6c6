"""Runway: for how long quota lasts at a pace, before calls are refused.

Rules of this file
1. Lots are spent soonest-expiring first. What lapses before it is spent does not make quota last longer.
2. A lot bound to a key lasts by that key's pace alone. Once it is gone, the key draws free lots like every other.
3. Quota has run out when somebody who spends finds nothing to draw from. Who spends nothing has no runway.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from tollkeeper.core.money.lots import Lot

SECOND = timedelta(seconds=1)
DAY_SECONDS = 86_400
WEEK_SECONDS = 7 * DAY_SECONDS

# From a second on, somebody more spends so much in a week.
_PaceStep = tuple[int, int]


def days_left(lots: Sequence[Lot], week_spent: Mapping[int | None, int], now: datetime) -> int | None:
    """Whole days. `week_spent`: what each key spent in a week; under None, all keys that have no lot of their own."""
    paces = {key: spent for key, spent in week_spent.items() if spent > 0}
    if not paces:
        return None
    steps = [(_until_own_lots_end(lots, key, pace, now), pace) for key, pace in paces.items()]
    return _until_end([lot for lot in lots if lot.key_id is None], steps, now) // DAY_SECONDS


def _until_own_lots_end(lots: Sequence[Lot], key: int | None, pace: int, now: datetime) -> int:
    own = [lot for lot in lots if lot.key_id is not None and lot.key_id == key]
    return _until_end(own, [(0, pace)], now)


def _until_end(lots: Sequence[Lot], steps: Sequence[_PaceStep], now: datetime) -> int:
    """In seconds. All lots are there from the beginning, so that there is no gap between one and the next."""
    at = 0
    for lot in sorted(lots, key=lambda lot: (lot.expires_at, lot.id)):
        at = _until_lot_ends(lot, steps, at, now)
    return max(at, min(begins for begins, _ in steps))


def _until_lot_ends(lot: Lot, steps: Sequence[_PaceStep], at: int, now: datetime) -> int:
    """Spent or lapsed, when it is drawn from as of `at`."""
    lapses, left = (lot.expires_at - now) // SECOND, int(lot.remaining)
    while at < lapses:
        pace = sum(spent for begins, spent in steps if begins <= at)
        until = min([lapses, *(begins for begins, _ in steps if begins > at)])
        if pace * (until - at) >= left * WEEK_SECONDS:
            return at + left * WEEK_SECONDS // max(pace, 1)
        left -= pace * (until - at) // WEEK_SECONDS
        at = until
    return at
