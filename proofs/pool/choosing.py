"""What choosing costs: one account out of a thousand, for every call anew."""

import random
import time

from tollkeeper.core.pool.choice import PoolPlace, choose, tiers
from tollkeeper.core.pool.health import Health

ACCOUNTS = 1_000
ROUNDS = 5_000
TURN = 50
CUSTOMER = 1


def choose_us() -> float:
    """The median, in microseconds, with limits to look at and some of them out."""
    healths = [Health() for _ in range(ACCOUNTS)]
    pool = tiers((number, PoolPlace(weight=1 + number % 5, requests_per_minute=100_000)) for number in range(ACCOUNTS))
    chance = random.Random(1).random
    now = 100.0

    def may_take(number: int, place: PoolPlace) -> bool:
        return number % 10 != 0 and healths[number].takes_calls(place, now, by=CUSTOMER)

    def burden(number: int) -> float:
        return healths[number].burden(now)

    taken = []
    for _ in range(ROUNDS // TURN):
        begun = time.perf_counter()
        chosen = [choose(pool, may_take, burden, chance) for _ in range(TURN)]
        taken.append((time.perf_counter() - begun) / TURN)
        for number in chosen:
            assert number is not None
            healths[number].begin(100, now, by=CUSTOMER)
        now += 0.5
    return sorted(taken)[len(taken) // 2] * 1e6
