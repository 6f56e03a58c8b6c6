"""The pool: which provider account takes a call, and what becomes of accounts that fail.

Rules of this file
1. A lower tier is used before a higher one. Within a tier two accounts are drawn by weight, and the one that answers
   sooner and has less to do takes the call.
2. One failure of the provider's takes no account out; several in a short time do, and then one call at a time tries
   whether it is back. What was under way before it went out says nothing of that. An account that says it is busy is
   left alone for as long as it says.
3. Nothing here knows a clock: time comes in as seconds that only grow.
"""

from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from itertools import accumulate, groupby

import msgspec

WINDOW_SECONDS = 4
FAILURES_LEAST = 3
OUT_SECONDS_FIRST = 2.0
OUT_SECONDS_MOST = 30.0
BUSY_SECONDS = 5.0
BUSY_SECONDS_MOST = 60.0
# A key that was refused is tested before it is used again; this is how long nobody even asks.
REFUSED_KEY_SECONDS = 60.0
MINUTE_SECONDS = 60
# How much the newest first byte counts toward an account's latency.
NEWEST = 0.2
DRAWS = 6


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where an account stands in the pool, and how much it may be given."""

    tier: int = 1
    weight: int = 1
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None


class Trouble(StrEnum):
    """What an account's failure means for the account."""

    CREDENTIAL = "credential"  # Its key was refused: out until tested.
    BUSY = "busy"  # It said so: out for as long as it says.
    SERVER = "server"  # It failed, or nobody answered: out when it happens again and again.


def trouble_of(status: int) -> Trouble:
    if status in {401, 402, 403}:
        return Trouble.CREDENTIAL
    return Trouble.BUSY if status == 429 else Trouble.SERVER


class Window:
    """A sum over the last so many seconds, kept by the second."""

    __slots__ = ("_at", "_buckets", "total")

    def __init__(self, seconds: int) -> None:
        self._buckets = [0] * seconds
        self._at = 0
        self.total = 0

    def add(self, amount: int, now: float) -> None:
        self.turn(now)
        self._buckets[self._at % len(self._buckets)] += amount
        self.total += amount

    def turn(self, now: float) -> int:
        """Forget what is too old; the sum of the rest."""
        second, size = int(now), len(self._buckets)
        for passed in range(max(self._at + 1, second - size + 1), second + 1):
            self.total -= self._buckets[passed % size]
            self._buckets[passed % size] = 0
        self._at = max(self._at, second)
        return self.total

    def clear(self) -> None:
        self._buckets = [0] * len(self._buckets)
        self.total = 0


class Health:
    """What one process knows of one account."""

    __slots__ = (
        "_failures",
        "_requests",
        "_successes",
        "_times_out",
        "_tokens",
        "in_flight",
        "latency_seconds",
        "out_until",
        "probing",
        "trouble",
    )

    def __init__(self) -> None:
        self.in_flight = 0
        self.latency_seconds = 0.0
        self.out_until = 0.0
        # Out, or back on trial: set until a call has gone well again.
        self.trouble: Trouble | None = None
        self.probing = False
        self._times_out = 0
        self._successes = Window(WINDOW_SECONDS)
        self._failures = Window(WINDOW_SECONDS)
        self._requests = Window(MINUTE_SECONDS)
        self._tokens = Window(MINUTE_SECONDS)

    def takes_calls(self, place: Place, now: float, share: int = 1) -> bool:
        """Whether it may be given a call now. Limits are shared out among `share` processes."""
        if now < self.out_until or (self.trouble is not None and self.probing):
            return False
        return (
            _within(self.in_flight, place.concurrency, share)
            and (
                place.requests_per_minute is None or _within(self._requests.turn(now), place.requests_per_minute, share)
            )
            and (place.tokens_per_minute is None or _within(self._tokens.turn(now), place.tokens_per_minute, share))
        )

    def begin(self, tokens: int, now: float) -> None:
        self.in_flight += 1
        self._requests.add(1, now)
        self._tokens.add(tokens, now)
        self.probing = self.trouble is not None

    def end(self, tokens: int, now: float) -> None:
        """The call is over, and took so many more tokens."""
        self.in_flight -= 1
        self._tokens.add(tokens, now)

    def succeed(self, first_byte_seconds: float, now: float) -> bool:
        """Whether that was news: it is back. While it is out, calls that were under way before tell nothing of now."""
        before = self.latency_seconds or first_byte_seconds
        self.latency_seconds = before + (first_byte_seconds - before) * NEWEST
        self._successes.add(1, now)
        if self.trouble is None or now < self.out_until:
            return False
        self.come_back()
        return True

    def fail(self, trouble: Trouble, now: float, retry_after_seconds: float | None = None) -> float:
        """For how long it is out now; 0 where one failure more makes no difference."""
        if trouble is Trouble.CREDENTIAL:
            return self.stay_out(trouble, REFUSED_KEY_SECONDS, now)
        if trouble is Trouble.BUSY:
            return self.stay_out(trouble, min(retry_after_seconds or BUSY_SECONDS, BUSY_SECONDS_MOST), now)
        if now < self.out_until:
            return 0.0
        self._failures.add(1, now)
        if not self.probing and not self._is_failing(now):
            return 0.0
        self._times_out += 1
        seconds = min(OUT_SECONDS_FIRST * 2 ** (self._times_out - 1), OUT_SECONDS_MOST)
        return self.stay_out(trouble, seconds, now)

    def _is_failing(self, now: float) -> bool:
        failures, successes = self._failures.turn(now), self._successes.turn(now)
        return failures >= max(FAILURES_LEAST, successes)

    def forget(self, *, on_trial: bool = False) -> None:
        """A call that began ended without telling anything of the account: if it was the trial, another may be."""
        if on_trial:
            self.probing = False

    def stay_out(self, trouble: Trouble, seconds: float, now: float) -> float:
        self.trouble, self.probing = trouble, False
        self.out_until = max(self.out_until, now + seconds)
        return seconds

    def come_back(self) -> None:
        """It is well, by its own answer or by what others say."""
        self.trouble, self.probing, self.out_until, self._times_out = None, False, 0.0, 0
        self._failures.clear()


class Tier:
    """Accounts of one tier, to be drawn from by weight."""

    def __init__(self, members: Sequence[tuple[int, Place]]) -> None:
        self.members = members
        self._sums = list(accumulate(place.weight for _, place in members))

    def draw(self, chance: float) -> tuple[int, Place]:
        return self.members[min(bisect(self._sums, chance * self._sums[-1]), len(self.members) - 1)]


def tiers(accounts: Iterable[tuple[int, Place]]) -> list[Tier]:
    """Accounts by tier, lowest first. An account of weight 0 is not drawn."""
    ordered = sorted((item for item in accounts if item[1].weight > 0), key=lambda item: item[1].tier)
    return [Tier(list(members)) for _, members in groupby(ordered, key=lambda item: item[1].tier)]


def choose(
    among: Sequence[Tier],
    may_take: Callable[[int, Place], bool],
    burden: Callable[[int, Place], float],
    chance: Callable[[], float],
) -> int | None:
    """The account for a call, out of those that `may_take` it. `burden`: how long it would have to wait there."""
    for tier in among:
        drawn = _draw_two(tier, may_take, chance)
        if not drawn:
            # Few of many are well: worth looking at each.
            drawn = [member for member in tier.members if may_take(*member)]
        if drawn:
            return min(drawn, key=lambda member: burden(*member))[0]
    return None


def _draw_two(
    tier: Tier, may_take: Callable[[int, Place], bool], chance: Callable[[], float]
) -> Collection[tuple[int, Place]]:
    drawn: dict[int, tuple[int, Place]] = {}
    for _ in range(DRAWS):
        member = tier.draw(chance())
        if member[0] not in drawn and may_take(*member):
            drawn[member[0]] = member
            if len(drawn) == 2:
                break
    return drawn.values()


def _within(used: int, limit: int | None, share: int) -> bool:
    """At least one for each process, so that a small limit does not shut an account out."""
    return limit is None or used < max(1, limit // share)


class RetryBudget:
    """Retries may be a tenth of calls: when everything fails, trying again makes it worse."""

    def __init__(self, *, part: float = 0.1, reserve: float = 50.0) -> None:
        self._part = part
        self._reserve = reserve
        self._left = reserve

    def earn(self) -> None:
        self._left = min(self._left + self._part, self._reserve)

    def spend(self) -> bool:
        if self._left < 1:
            return False
        self._left -= 1
        return True
