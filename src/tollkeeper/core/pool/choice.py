"""The pool: which provider account takes a call, and how often calls are tried again.

Rules of this file
1. A lower tier is used before a higher one. Within a tier two accounts are drawn by weight, and the one where a call
   would wait clearly less takes it.
2. What it costs to choose does not grow with the number of accounts, while some of them are well.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby

import msgspec

# Two accounts whose burdens differ by less are as good as each other: their weights decide.
ALIKE = 1.25
DRAWS = 6
# Retries that may come before they are earned, and customers whose retries are counted.
RESERVE = 50.0
BUDGETS_MOST = 1_024


class PoolPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an account stands in the pool, and how much it may be given."""

    tier: int = 1
    weight: int = 1
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None


# Whether an account may take a call, by its id and place.
MayTake = Callable[[int, PoolPlace], bool]


class Tier:
    """Accounts of one tier, to be drawn from by weight."""

    def __init__(self, members: Sequence[tuple[int, PoolPlace]]) -> None:
        self.members = members
        self.number = members[0][1].tier if members else 0
        self._sums = list(accumulate(place.weight for _, place in members))

    def draw(self, chance: float) -> tuple[int, PoolPlace]:
        return self.members[min(bisect(self._sums, chance * self._sums[-1]), len(self.members) - 1)]


def tiers(accounts: Iterable[tuple[int, PoolPlace]]) -> list[Tier]:
    """Accounts by tier, lowest first. An account of weight 0 is not drawn."""
    ordered = sorted((item for item in accounts if item[1].weight > 0), key=lambda item: item[1].tier)
    return [Tier(list(members)) for _, members in groupby(ordered, key=lambda item: item[1].tier)]


def choose(
    among: Sequence[Tier],
    may_take: MayTake,
    burden: Callable[[int], float],
    chance: Callable[[], float],
) -> int | None:
    """The account for a call, out of those that `may_take` it. `burden`: how long it would have to wait there."""
    for tier in among:
        if len(tier.members) == 1:
            if may_take(*tier.members[0]):
                return tier.members[0][0]
            continue
        drawn = _draw_two(tier, may_take, chance)
        if not drawn:
            # Few of many are well: worth looking at each.
            able = Tier([member for member in tier.members if may_take(*member)])
            drawn = _draw_two(able, lambda *_: True, chance) if able.members else []
        if drawn:
            first, second = drawn[0], drawn[-1]
            return second if burden(first) > ALIKE * burden(second) else first
    return None


def _draw_two(tier: Tier, may_take: MayTake, chance: Callable[[], float]) -> list[int]:
    """Two by weight, which may be the same; fewer where too many cannot take a call."""
    drawn: list[int] = []
    for _ in range(DRAWS):
        member = tier.draw(chance())
        if may_take(*member):
            drawn.append(member[0])
            if len(drawn) == 2:
                break
    return drawn


class RetryBudget:
    """Retries may be a tenth of calls: when everything fails, trying again makes it worse."""

    def __init__(self, *, part: float = 0.1, reserve: float = RESERVE) -> None:
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


class RetryBudgets:
    """A budget of all calls, and one of each customer's: whoever makes calls fail uses up half of the reserve at
    most, and the rest is there for others."""

    def __init__(self) -> None:
        self._all = RetryBudget(reserve=RESERVE)
        self._of: dict[int, RetryBudget] = {}

    def __len__(self) -> int:
        return len(self._of)

    def earn(self, *, by: int) -> None:
        self._all.earn()
        if self._of and (own := self._of.get(by)) is not None:
            own.earn()

    def spend(self, *, by: int) -> bool:
        own = self._of.get(by)
        if own is None:
            if len(self._of) >= BUDGETS_MOST:
                del self._of[next(iter(self._of))]
            own = self._of[by] = RetryBudget(reserve=RESERVE / 2)
        return own.spend() and self._all.spend()
