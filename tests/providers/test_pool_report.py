"""What a process tells of its pool: breakers that are not closed, and what is used of limits."""

from tests.providers.test_pool import ANOTHER, ONE, Time, a_pool, an_account, fail, seated
from tollkeeper.core.pool.breaker import BUSY_SECONDS, BreakerState, Trouble
from tollkeeper.metrics.recent_counts import RecentCounts


async def test_a_pool_in_which_nothing_happened_has_nothing_to_tell() -> None:
    pool, _ = a_pool(an_account(1))
    await pool.standings()
    assert (pool.report().breakers, pool.report().rooms) == ([], [])


async def test_calls_under_way_and_the_last_minute_are_told() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    seat = await seated(pool)
    [room] = pool.report().rooms
    assert (room.account, room.calls, room.requests, room.tokens) == ("p1", 1, 1, 10)
    seat.leave(5)
    time.now += 61
    assert pool.report().rooms == []


async def test_a_breaker_is_told_while_it_is_open_and_while_it_is_on_trial_and_no_longer() -> None:
    time = Time()
    pool, _ = a_pool(an_account(1), time=time)
    await fail(pool, Trouble.BUSY, ONE, ANOTHER)
    [breaker] = pool.report().breakers
    assert (breaker.account, breaker.model, breaker.state) == ("p1", "m", BreakerState.OPEN)
    assert breaker.trouble is Trouble.BUSY
    assert 0 < breaker.seconds <= BUSY_SECONDS * 2
    time.now += breaker.seconds
    [breaker] = pool.report().breakers
    assert (breaker.state, breaker.seconds) == (BreakerState.HALF_OPEN, 0.0)
    (await seated(pool)).succeed(0.1)
    assert pool.report().breakers == []


def test_recent_counts_forget_what_was_counted_before_the_last_looks() -> None:
    counts = [5, 0]
    recent = RecentCounts(lambda: counts, looks=2)
    counts[0] += 1
    assert recent.look() == [1, 0]
    counts[1] += 2
    assert recent.look() == [1, 2]
    assert recent.look() == [0, 2]
