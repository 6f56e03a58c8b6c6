"""Affinity: calls of one conversation go to one provider account, where the vendor's prompt cache knows its beginning.

Rules of this file
1. Processes agree without talking: a conversation is a point on a circle that is the same everywhere (consistent
   hashing), and its home is the next account from there that can take it. Where one account is out, only the
   conversations at home there move, each to the account after it.
2. A point follows from a secret and the customer: nobody can reckon where a conversation goes, and no customer steers
   another's.
3. No account is given more than BOUND times its share by weight among those that are well (bounded loads), of the calls
   of the last minute. Each process keeps to it by its own calls, so all together do. A few calls a minute are no load:
   up to CALLS_LEAST in a process nothing is bounded.
4. A conversation that found its home full stays where it went, for that account has its cache now.
"""

from array import array
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from math import floor, log2

from tollkeeper.core.pool.candidates import Candidates
from tollkeeper.core.pool.choice import MayTake, PoolPlace, Tier, choose
from tollkeeper.core.pool.recent_sum import RecentSum
from tollkeeper.core.pool.room import MINUTE_SECONDS

BOUND = 1.25
CALLS_LEAST = 10
# Vendors forget what was not used for some minutes. So do we where a conversation went, and of so many at most we know.
MOVED_SECONDS = 300.0
MOVED_MOST = 4_096
# For how long it is believed which accounts are well, when shares are reckoned.
COUNTED_SECONDS = 1.0
# So far around the circle a home is looked for, before chance decides.
STEPS_MOST = 16
# Points of all accounts together, and of one unit of weight.
POINTS_MOST = 32_768
POINTS_PER_WEIGHT_MOST = 512
POINT_BYTES = 4
POINT_BITS = 8 * POINT_BYTES
POINTS_PER_DIGEST = 64 // POINT_BYTES
LOW_BITS = 2**POINT_BITS - 1


def point_of(secret: bytes, customer: int, model_id: str, conversation: bytes) -> int:
    """Where on a circle a customer's conversation is. The upper bits are compared with those of accounts."""
    keyed = blake2b(key=secret, salt=customer.to_bytes(blake2b.SALT_SIZE), digest_size=2 * POINT_BYTES)
    keyed.update(b"%b\0%b" % (model_id.encode(), conversation))
    return int.from_bytes(keyed.digest())


class Circle:
    """Accounts, each at many points of a circle by its weight. The points are made when they are first asked for, some
    milliseconds' work."""

    def __init__(self, weights: Sequence[tuple[int, int]]) -> None:
        self._weights = weights
        self._accounts = [account_id for account_id, _ in weights]
        self._points = array("Q")

    def accounts_from(self, point: int) -> Iterator[int]:
        """The accounts that follow, each as often as it has points there."""
        points, accounts = self._points or self._make_points(), self._accounts
        start = bisect(points, point)
        for step in range(start, start + min(STEPS_MOST, len(points))):
            yield accounts[points[step % len(points)] & LOW_BITS]

    def _make_points(self) -> "array[int]":
        # A power of two, so that an account that is added or taken away seldom changes how many points others have.
        per_weight = 2.0 ** floor(log2(POINTS_MOST / sum(weight for _, weight in self._weights)))
        per_weight = min(per_weight, POINTS_PER_WEIGHT_MOST)
        made = (
            point << POINT_BITS | number
            for number, (account_id, weight) in enumerate(self._weights)
            for point in _points_of(account_id, max(1, round(weight * per_weight)))
        )
        self._points = array("Q", sorted(made))
        return self._points


def _points_of(account_id: int, count: int) -> Iterator[int]:
    for number in range(0, count, POINTS_PER_DIGEST):
        digest = blake2b(b"%d %d" % (account_id, number)).digest()
        for at in range(min(POINTS_PER_DIGEST, count - number)):
            yield int.from_bytes(digest[POINT_BYTES * at : POINT_BYTES * (at + 1)])


class Shares:
    """Which of a tier's accounts this process has given how many calls in the last minute."""

    def __init__(self) -> None:
        self._calls = RecentSum(MINUTE_SECONDS)
        self._calls_of: dict[int, RecentSum] = {}
        self._weight_well = 0
        self._counted_at = float("-inf")

    def add(self, account_id: int, now: float) -> None:
        own = self._calls_of.get(account_id)
        if own is None:
            own = self._calls_of[account_id] = RecentSum(MINUTE_SECONDS)
        own.add(1, now)
        self._calls.add(1, now)

    def count(self, tier: Tier, is_well: MayTake, now: float) -> None:
        """Add up the weights of the accounts that are well: each one's share of the calls follows from that."""
        if now - self._counted_at >= COUNTED_SECONDS:
            self._counted_at = now
            self._weight_well = sum(place.weight for account_id, place in tier.members if is_well(account_id, place))

    def has_room(self, account_id: int, place: PoolPlace, now: float) -> bool:
        """Whether one more call is within the account's bound."""
        own = self._calls_of.get(account_id)
        if own is None:
            return True
        calls = own.turn(now) + 1
        if calls <= CALLS_LEAST:
            return True
        return calls * self._weight_well <= BOUND * place.weight * (self._calls.turn(now) + 1)


class Homes:
    """A tier, and the homes of conversations in it. The circle also has the accounts of the tier that take no calls at
    present, so that nothing else moves when one of them rests or returns."""

    def __init__(self, tier: Tier, circle: Circle) -> None:
        self.tier = tier
        self.shares = Shares()
        self._circle = circle
        self._places = dict(tier.members)
        # Conversations that found their home full, by their points: where they went, and until when that is known.
        self._moved: dict[int, tuple[int, float]] = {}

    def note_call(self, account_id: int, now: float) -> None:
        """The account, if it is of this tier, was given a call."""
        if len(self._places) > 1 and account_id in self._places:
            self.shares.add(account_id, now)

    def home(self, point: int, may_take: MayTake, now: float) -> int | None:
        """The account that may take a call and is within its bound: where the conversation went, or the first from its
        point on."""
        moved = self._moved.pop(point, None) if self._moved else None
        if moved is not None and now < moved[1] and self._takes(moved[0], may_take, now):
            self._moved[point] = moved[0], now + MOVED_SECONDS
            return moved[0]
        home, was_full = self._look_around(point, may_take, now)
        if home is not None and was_full:
            if len(self._moved) >= MOVED_MOST:
                del self._moved[next(iter(self._moved))]
            self._moved[point] = home, now + MOVED_SECONDS
        return home

    def _look_around(self, point: int, may_take: MayTake, now: float) -> tuple[int | None, bool]:
        """The next account, and whether one before it was full."""
        seen, was_full = set(), False
        for account_id in self._circle.accounts_from(point):
            if account_id in seen:
                continue
            place = self._places.get(account_id)
            if place is not None and may_take(account_id, place):
                if self.shares.has_room(account_id, place, now):
                    return account_id, was_full
                was_full = True
            seen.add(account_id)
        return None, was_full

    def _takes(self, account_id: int, may_take: MayTake, now: float) -> bool:
        place = self._places.get(account_id)
        return place is not None and may_take(account_id, place) and self.shares.has_room(account_id, place, now)


def choose_home(among: Sequence[Homes], point: int, candidates: Candidates, chance: Callable[[], float]) -> int | None:
    """The account for a call of the conversation at `point`. Where none near the point will do, one is drawn as for
    other calls: within its bound, or beyond it where all others are full."""
    now = candidates.now
    for homes in among:
        shares = homes.shares
        if len(homes.tier.members) > 1:
            shares.count(homes.tier, candidates.is_well, now)
            home = homes.home(point, candidates.is_swift, now)
            if home is not None:
                return home

        def within_bound(account_id: int, place: PoolPlace, shares: Shares = shares) -> bool:
            return candidates.may_take(account_id, place) and shares.has_room(account_id, place, now)

        for may_take in (within_bound, candidates.may_take):
            chosen = choose([homes.tier], may_take, candidates.burden, chance)
            if chosen is not None:
                return chosen
    return None
