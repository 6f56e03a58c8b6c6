"""Whose calls met trouble at a provider account: evidence by customer.

Rules of this file
1. What one customer's calls meet may be that customer's own doing. It makes the account be left alone for the calls of
   that customer, and of nobody else.
2. An account is believed to be in trouble where the calls of two customers say so. Of one customer's failures no more
   are counted than of all the others' together, or two where those are fewer: whoever fails loudly on purpose does not
   turn somebody else's single failure into a verdict.
"""

from collections.abc import Collection

from tollkeeper.core.pool.recent_sum import RecentSum

WINDOW_SECONDS = 4
FAILURES_LEAST = 3
# So many without a success between them are enough, however long they took.
FAILURES_IN_A_ROW = 5
# What one customer's failures come to at most, while nobody else's calls fail: too little for a verdict.
FAILURES_OF_ONE_MOST = FAILURES_LEAST - 1
OUT_SECONDS_FIRST = 2.0
OUT_SECONDS_MOST = 30.0
# Customers that are remembered of an account.
WITNESSES_MOST = 256
FORGOTTEN_SECONDS = 60.0
LONG_AGO = float("-inf")


class Witness:
    """What one customer's calls met at an account."""

    __slots__ = (
        "_failures",
        "_row",
        "_successes",
        "avoids_until",
        "kind",
        "newest_old",
        "seen_at",
        "spared_at",
        "times",
    )

    def __init__(self) -> None:
        self.avoids_until = 0.0
        # Of what kind that trouble was.
        self.kind = ""
        # The newest ticket of a call that was begun before that.
        self.newest_old = 0
        # How often in a row the account was left alone for this customer.
        self.times = 0
        self.seen_at = 0.0
        # When the customer was last given a call there although the account was not well.
        self.spared_at = LONG_AGO
        self._row = 0
        self._failures = RecentSum(WINDOW_SECONDS)
        self._successes = RecentSum(WINDOW_SECONDS)

    def avoid(self, kind: str, seconds: float, now: float, *, newest_old: int) -> None:
        self.kind, self.times, self._row, self.newest_old = kind, self.times + 1, 0, newest_old
        self.avoids_until = max(self.avoids_until, now + seconds)
        self.spared_at = now

    def fail(self, now: float) -> bool:
        """Whether that is one failure too many for this customer."""
        self._row += 1
        self._failures.add(1, now)
        return self._row >= FAILURES_IN_A_ROW or self.failures(now) >= max(FAILURES_LEAST, self._successes.turn(now))

    def failures(self, now: float) -> int:
        return self._failures.turn(now)

    def succeed(self, now: float, *, ends_it: bool) -> None:
        """`ends_it`: the call says that this customer's trouble is over."""
        self._successes.add(1, now)
        self._row = 0
        if ends_it:
            self.avoids_until = 0.0
        if now >= self.avoids_until:
            self.times = 0


class Witnesses:
    """All customers whose calls met trouble at one account."""

    __slots__ = ("_failures", "_row", "seen")

    def __init__(self) -> None:
        # By customer; the first is the one that was not heard of for longest.
        self.seen: dict[int, Witness] = {}
        self._failures = RecentSum(WINDOW_SECONDS)
        # Failures since anybody's last success, by customer.
        self._row: dict[int, int] = {}

    def avoids(self, customer: int, now: float) -> bool:
        """Whether the account is left alone for this customer's calls."""
        witness = self.seen.get(customer)
        return witness is not None and now < witness.avoids_until

    def of(self, customer: int, now: float) -> Witness:
        witness = self.seen.pop(customer, None)
        if witness is None:
            if len(self.seen) >= WITNESSES_MOST:
                self._forget(now)
            witness = Witness()
        # Put last again.
        self.seen[customer] = witness
        witness.seen_at = now
        return witness

    def spared_at(self, customer: int) -> float:
        witness = self.seen.get(customer)
        return LONG_AGO if witness is None else witness.spared_at

    def fail(self, customer: int, now: float) -> bool:
        """Note a failure. Whether it is one too many for this customer."""
        if customer in self._row or len(self._row) < WITNESSES_MOST:
            self._row[customer] = self._row.get(customer, 0) + 1
        self._failures.add(1, now)
        return self.of(customer, now).fail(now)

    def succeed(self, customer: int, ticket: int, now: float, *, unless: str) -> None:
        """`unless`: of a trouble of this kind one success says nothing."""
        if self._row:
            self._row.clear()
        if self.seen and (witness := self.seen.get(customer)) is not None:
            witness.succeed(now, ends_it=ticket > witness.newest_old and witness.kind != unless)

    def agree(self, successes: int, now: float) -> bool:
        """Whether several customers' calls fail, too often for it to be chance."""
        if believed(self._row.values()) >= FAILURES_IN_A_ROW:
            return True
        least = max(FAILURES_LEAST, successes)
        # Customers are counted one by one only where all of them together have failures enough.
        return self._failures.turn(now) >= least and believed(self._counts(now)) >= least

    def seconds_agreed(self, kind: str, customer: int, now: float) -> float | None:
        """For how long another customer's calls say the same: the shortest of them. None where nobody else does."""
        others = (
            witness.avoids_until - now
            for other, witness in self.seen.items()
            if other != customer and witness.kind == kind and now < witness.avoids_until
        )
        return min(others, default=None)

    def _counts(self, now: float) -> list[int]:
        return [witness.failures(now) for witness in self.seen.values()]

    def _forget(self, now: float) -> None:
        quiet = [
            customer
            for customer, witness in self.seen.items()
            if now >= witness.avoids_until and now - witness.seen_at > FORGOTTEN_SECONDS
        ]
        for customer in quiet or [next(iter(self.seen))]:
            del self.seen[customer]


def believed(failures: Collection[int]) -> int:
    """What failures by customer come to."""
    loudest = max(failures, default=0)
    others = sum(failures) - loudest
    return others + min(loudest, max(others, FAILURES_OF_ONE_MOST))
