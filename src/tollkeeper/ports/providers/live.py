"""The pool as the processes of the gateway know it at this moment."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tollkeeper.core.pool.breaker import BreakerState, Trouble


class BreakerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A breaker that is not closed."""

    account: str
    # None: of the account as a whole.
    model: str | None
    state: BreakerState
    # Until it is tried again; 0 where its time is over.
    seconds: float
    trouble: Trouble


class RoomReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one process took of an account's limits: calls under way, and the last minute."""

    account: str
    calls: int
    requests: int
    tokens: int


class PoolReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one process knows. Accounts of which there is nothing to say are left out."""

    breakers: Sequence[BreakerReport] = ()
    rooms: Sequence[RoomReport] = ()
    # Our own part of the calls of the last minutes: how many took up to each bound, in ms, and how many longer.
    own_bounds_ms: Sequence[float] = ()
    own_counts: Sequence[int] = ()


class ProcessReport(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    process: int
    at: datetime
    pool: PoolReport
