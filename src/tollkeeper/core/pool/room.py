"""Room at a provider account: calls under way and what its last minute took, of all its models together."""

from typing import NamedTuple

from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.pool.recent_sum import RecentSum

MINUTE_SECONDS = 60


class RoomUse(NamedTuple):
    """Calls under way, and the requests and tokens of the last minute."""

    calls: int
    requests: int
    tokens: int


class Room:
    """What one process has given to one account."""

    __slots__ = ("_requests", "_tickets", "_tokens", "in_flight")

    def __init__(self) -> None:
        self.in_flight = 0
        self._tickets = 0
        self._requests = RecentSum(MINUTE_SECONDS)
        self._tokens = RecentSum(MINUTE_SECONDS)

    def is_left(self, place: PoolPlace, now: float, share: int) -> bool:
        """Limits are shared out among `share` processes."""
        requests, tokens = place.requests_per_minute, place.tokens_per_minute
        return (
            _within(self.in_flight, place.concurrency, share)
            and (requests is None or _within(self._requests.turn(now), requests, share))
            and (tokens is None or _within(self._tokens.turn(now), tokens, share))
        )

    def used(self, now: float) -> RoomUse:
        return RoomUse(self.in_flight, self._requests.turn(now), self._tokens.turn(now))

    def begin(self, tokens: int, now: float) -> int:
        """Give it a call; the call's ticket, which is greater than those of earlier calls."""
        self._tickets += 1
        self.in_flight += 1
        self._requests.add(1, now)
        self._tokens.add(tokens, now)
        return self._tickets

    def end(self, tokens: int, now: float) -> None:
        """A call is over, and took so many more tokens."""
        self.in_flight -= 1
        self._tokens.add(tokens, now)


def _within(used: int, limit: int | None, share: int) -> bool:
    """At least one for each process, so that a small limit does not shut an account out."""
    return limit is None or used < max(1, limit // share)
