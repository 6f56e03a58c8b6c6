"""The pool as all processes know it together: each tells of itself, and operators ask about the whole.

Rules of this file
1. A breaker is as open as the process says that holds it for the longest time: calls there go elsewhere.
2. What is used of a limit is what all processes used together.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from tollkeeper.core.pool.breaker import BreakerState, Trouble
from tollkeeper.core.pool.latency import percentile_of
from tollkeeper.ports.providers.live import PoolReport, ProcessReport

# What an account that is out is out for, in words.
BECAUSE: Mapping[Trouble, str] = {
    Trouble.CREDENTIAL: "its key was refused",
    Trouble.BUSY: "it says that it is busy",
    Trouble.SERVER: "it failed again and again",
}


class LiveBreaker(msgspec.Struct, frozen=True, kw_only=True):
    """A breaker that is not closed in at least one process. `model`: None for the account as a whole."""

    model: str | None
    state: BreakerState
    # When it is tried again; None where a call tries it now.
    until: datetime | None
    because: str
    # In how many processes it is so, of how many that tell.
    processes: int
    of_processes: int


class LiveRoom(msgspec.Struct, frozen=True, kw_only=True):
    """Calls under way, and the requests and tokens of the last minute, in all processes."""

    calls: int = 0
    requests: int = 0
    tokens: int = 0


class LiveAccount(msgspec.Struct, frozen=True, kw_only=True):
    room: LiveRoom = LiveRoom()
    breakers: Sequence[LiveBreaker] = ()

    @property
    def is_out(self) -> bool:
        """Half open is not out: a call tries it."""
        return any(breaker.model is None and breaker.state is BreakerState.OPEN for breaker in self.breakers)


class LivePoolView(msgspec.Struct, frozen=True, kw_only=True):
    """`processes`: how many told of it; with none, nothing is known."""

    processes: int
    accounts: Mapping[str, LiveAccount]


def live_pool(reports: Sequence[ProcessReport]) -> LivePoolView:
    rooms: dict[str, LiveRoom] = {}
    breakers: dict[str, dict[str | None, list[LiveBreaker]]] = {}
    for report in reports:
        for room in report.pool.rooms:
            before = rooms.get(room.account, LiveRoom())
            rooms[room.account] = LiveRoom(
                calls=before.calls + room.calls,
                requests=before.requests + room.requests,
                tokens=before.tokens + room.tokens,
            )
        for each in report.pool.breakers:
            until = None if each.state is BreakerState.HALF_OPEN else report.at + timedelta(seconds=each.seconds)
            told = LiveBreaker(
                model=each.model,
                state=each.state,
                until=until,
                because=BECAUSE[each.trouble],
                processes=1,
                of_processes=len(reports),
            )
            breakers.setdefault(each.account, {}).setdefault(each.model, []).append(told)
    accounts = {
        name: LiveAccount(
            room=rooms.get(name, LiveRoom()),
            breakers=sorted(map(_longest, breakers.get(name, {}).values()), key=lambda breaker: breaker.model or ""),
        )
        for name in {*rooms, *breakers}
    }
    return LivePoolView(processes=len(reports), accounts=accounts)


def own_latency_ms(pools: Iterable[PoolReport], percent: float) -> float | None:
    """Our own part of the calls of the last minutes, of all processes; None where there were none, or their buckets
    are not the same (processes of two versions)."""
    told = [pool for pool in pools if pool.own_counts]
    if not told or len({tuple(pool.own_bounds_ms) for pool in told}) > 1:
        return None
    counts = [sum(column) for column in zip(*(pool.own_counts for pool in told), strict=True)]
    return percentile_of(counts, told[0].own_bounds_ms, percent)


def _longest(told: Sequence[LiveBreaker]) -> LiveBreaker:
    """One breaker, as several processes tell of it."""
    longest = max(told, key=lambda each: (each.until is not None, each.until.timestamp() if each.until else 0.0))
    return msgspec.structs.replace(longest, processes=sum(each.state is longest.state for each in told))
