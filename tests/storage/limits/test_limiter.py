"""The limiter with a real Redis: shared, away, hanging, forgetful, and back."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from uuid import uuid4
from weakref import WeakKeyDictionary

import pytest
from redis.asyncio import Redis as Client

from tollkeeper.core.limits.windows import LimitOutcome, Measure, Window, Windows
from tollkeeper.ports import Passage
from tollkeeper.storage.limits.lane import GATHER_TURNS_MOST
from tollkeeper.storage.limits.limiter import RedisLimiter
from tollkeeper.storage.redis.places import places_of
from tools.services import Redis, RedisCluster
from tools.services.process import wait_until_async

pytestmark = pytest.mark.not_quick

WINDOWS = Windows("1", (Window("key:1", 10),))


@pytest.fixture
def redis() -> Iterator[Redis]:
    with Redis() as running:
        yield running


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is not about a Redis that hangs: on a busy machine a good one may need longer, too."""
    monkeypatch.setattr("tollkeeper.storage.limits.lane.PATIENCE_SECONDS", 5.0)
    monkeypatch.setattr("tollkeeper.storage.limits.lane.GATHER_SECONDS_MOST", 5.0)


@asynccontextmanager
async def limiters(url: str, count: int = 1) -> AsyncIterator[list[RedisLimiter]]:
    """So many processes' limiters, which divide the limits among themselves while Redis is away."""
    peaks: list[int] = []
    made = [
        RedisLimiter(places_of(url), prefix="t:", share=lambda: count, at_peak=lambda _, peak: peaks.append(peak))
        for _ in range(count)
    ]
    tasks = [asyncio.create_task(limiter.follow()) for limiter in made]
    try:
        for limiter in made:
            await until_live(limiter)
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until_live(limiter: RedisLimiter) -> None:
    async def is_live() -> bool:
        return limiter.is_live

    await wait_until_async(is_live, within_seconds=40)


KNOWN: WeakKeyDictionary[RedisLimiter, dict[object, Windows]] = WeakKeyDictionary()


def known_to(limiter: RedisLimiter, windows: Windows) -> Windows:
    """As each process has windows of its own, in which it keeps what it heard."""
    place = (windows.whose, windows.each)
    return KNOWN.setdefault(limiter, {}).setdefault(place, Windows(windows.whose, windows.each))


async def ask(limiter: RedisLimiter, count: int, windows: Windows = WINDOWS) -> list[LimitOutcome]:
    own = known_to(limiter, windows)
    passages = [Passage(windows=own, request_id=uuid4()) for _ in range(count)]
    return await asyncio.gather(*map(limiter.admit, passages))


def admitted(outcomes: list[LimitOutcome]) -> int:
    return sum(outcome.refused is None for outcome in outcomes)


@pytest.mark.usefixtures("patience")
async def test_processes_share_one_limit(redis: Redis) -> None:
    async with limiters(redis.url, 3) as several:
        told = await asyncio.gather(*(ask(limiter, 8) for limiter in several))
        assert sum(map(admitted, told)) == 10


@pytest.mark.usefixtures("patience")
async def test_what_is_known_to_be_full_is_not_asked_about(redis: Redis) -> None:
    async with limiters(redis.url) as [limiter]:
        assert limiter.known_full(WINDOWS) is None
        assert admitted(await ask(limiter, 12)) == 10
        full = limiter.known_full(WINDOWS)
        assert full is not None
        assert full.refused == WINDOWS.each[0]
        assert 59_000_000 < full.retry_in_us <= 60_000_000
        # A higher limit is another window.
        assert limiter.known_full(Windows("1", (Window("key:1", 20),))) is None


@pytest.mark.usefixtures("patience")
async def test_without_redis_each_has_its_share_and_begins_from_what_it_admitted(redis: Redis) -> None:
    async with limiters(redis.url, 2) as [one, other]:
        assert admitted(await ask(one, 2)) == 2
        redis.kill()
        # Eight were left when it was last heard of: four for each.
        assert admitted(await ask(one, 10)) == 3
        assert admitted(await ask(other, 10)) == 5
        redis.start()
        await asyncio.gather(until_live(one), until_live(other))
        # Redis was empty; both told it again what they had admitted.
        assert admitted(await ask(one, 2)) + admitted(await ask(other, 2)) == 0


async def test_a_redis_that_hangs_keeps_nobody_waiting_and_takes_back_what_it_says_late(redis: Redis) -> None:
    async with limiters(redis.url) as [limiter]:
        redis.freeze()
        begun = time.monotonic()
        assert admitted(await ask(limiter, 5)) == 5
        first = time.monotonic() - begun
        begun = time.monotonic()
        assert admitted(await ask(limiter, 4)) == 4
        second = time.monotonic() - begun
        redis.thaw()
        # One round of patience, and none after it.
        assert first < 1.5
        assert second < first
        await until_live(limiter)
        # Of those that were admitted alone it was told; the places that it gave them as well are free again.
        assert admitted(await ask(limiter, 5)) == 1


async def test_a_redis_that_hangs_for_long_is_left_and_found_again(redis: Redis) -> None:
    async with limiters(redis.url) as [limiter]:
        assert admitted(await ask(limiter, 3)) == 3
        redis.freeze()
        assert admitted(await ask(limiter, 3)) == 3

        async def was_left() -> bool:
            return not limiter._lanes[0].is_late

        await wait_until_async(was_left, within_seconds=30)
        assert admitted(await ask(limiter, 2)) == 2
        redis.thaw()
        await until_live(limiter)
        # What it did for the three whom it answered too late cannot be taken back any more.
        assert admitted(await ask(limiter, 5)) <= 2


async def test_who_was_at_the_limit_gets_no_share_when_redis_hangs_for_a_moment(redis: Redis) -> None:
    async with limiters(redis.url, 2) as [one, other]:
        assert admitted(await ask(one, 10)) == 10
        assert admitted(await ask(other, 1)) == 0
        redis.freeze()
        assert admitted(await ask(other, 5, Windows("2", WINDOWS.each))) == 5
        assert admitted(await ask(other, 5)) == 0
        redis.thaw()


async def test_the_line_of_a_ban_is_not_divided(redis: Redis) -> None:
    line = Windows("ip-1", (Window("invalid", 10, divided=False),))
    async with limiters(redis.url, 5) as [one, *_]:
        redis.kill()
        assert admitted(await ask(one, 12, line)) == 10


async def test_no_time_at_peak_is_made_of_a_share(redis: Redis) -> None:
    standard = Windows("1", (Window("chat", 20, 10),))
    async with limiters(redis.url, 5) as [one, *_]:
        redis.kill()
        told = await ask(one, 6, standard)
        assert admitted(told) == 4
        assert sum(outcome.peak_us for outcome in told) == 0


@pytest.mark.usefixtures("patience")
async def test_a_redis_that_forgot_everything_is_told_again(redis: Redis) -> None:
    async with limiters(redis.url) as [limiter]:
        assert admitted(await ask(limiter, 10)) == 10
        async with Client.from_url(redis.url) as client:
            await client.flushall()

            async def knows_again() -> bool:
                return int(await client.llen("t:{1}:key:1")) == 10

            await wait_until_async(knows_again, within_seconds=30)
        assert admitted(await ask(limiter, 1)) == 0


@pytest.mark.usefixtures("patience")
async def test_a_script_that_redis_lost_does_not_stop_calls(redis: Redis) -> None:
    async with limiters(redis.url) as [limiter]:
        async with Client.from_url(redis.url) as client:
            await client.script_flush()
        assert admitted(await ask(limiter, 3)) == 3
        await until_live(limiter)
        assert admitted(await ask(limiter, 10)) == 7


@pytest.mark.usefixtures("patience")
async def test_a_redis_that_takes_no_writes_is_as_good_as_away(redis: Redis) -> None:
    async with limiters(redis.url, 2) as [limiter, _]:
        async with Client.from_url(redis.url) as client:
            await client.replicaof("127.0.0.1", 1)
            assert admitted(await ask(limiter, 10)) == 5
            await client.replicaof("NO", "ONE")
        await until_live(limiter)
        assert admitted(await ask(limiter, 10)) == 5


@pytest.mark.usefixtures("patience")
async def test_calls_that_run_are_counted_until_they_end_or_their_process_is_gone(redis: Redis) -> None:
    running = Windows("1", (Window("running", 1, measure=Measure.RUNNING),))
    async with limiters(redis.url) as [limiter]:
        passage = Passage(windows=running, request_id=uuid4())
        assert (await limiter.admit(passage)).refused is None
        assert admitted(await ask(limiter, 1, running)) == 0
        limiter.ended(passage, 0)
        assert admitted(await ask(limiter, 1, running)) == 1
        async with Client.from_url(redis.url) as client:
            assert 0 < await client.pttl("t:{1}:running") <= 30_000


@pytest.mark.usefixtures("patience")
async def test_tokens_that_an_answer_used_count_as_well(redis: Redis) -> None:
    tokens = Windows("1", (Window("tokens", 100, measure=Measure.TOKENS),))
    async with limiters(redis.url) as [limiter]:
        passage = Passage(windows=tokens, request_id=uuid4(), tokens=40)
        assert (await limiter.admit(passage)).refused is None
        limiter.ended(passage, 50)
        again = Passage(windows=tokens, request_id=uuid4(), tokens=20)
        assert (await limiter.admit(again)).refused is not None
        small = Passage(windows=tokens, request_id=uuid4(), tokens=10)
        assert (await limiter.admit(small)).refused is None


@pytest.mark.usefixtures("patience")
async def test_after_many_at_once_who_comes_within_a_few_turns_shares_a_round_trip(redis: Redis) -> None:
    async def come_after(turns: int, limiter: RedisLimiter) -> list[LimitOutcome]:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await ask(limiter, 1)

    async with limiters(redis.url) as [limiter], Client.from_url(redis.url) as client:
        await ask(limiter, 1)
        before = await times_asked(client)
        await asyncio.gather(come_after(0, limiter), come_after(4, limiter))
        assert await times_asked(client) == before + 2
        await ask(limiter, GATHER_TURNS_MOST)
        before = await times_asked(client)
        await asyncio.gather(*(come_after(turns, limiter) for turns in range(GATHER_TURNS_MOST)))
        assert await times_asked(client) == before + 1


async def times_asked(client: Client) -> int:
    told = await client.info("commandstats")
    return int(told.get("cmdstat_evalsha", {"calls": 0})["calls"])


@pytest.mark.usefixtures("patience")
async def test_who_leaves_before_the_answer_has_a_place_all_the_same(redis: Redis) -> None:
    async with limiters(redis.url) as [limiter]:
        passages = [Passage(windows=Windows("1", WINDOWS.each), request_id=uuid4()) for _ in range(4)]
        leaving = [asyncio.create_task(limiter.admit(passage)) for passage in passages]
        await asyncio.sleep(0)
        for task in leaving:
            task.cancel()
        # Whoever is answered now was asked about with them, or after them.
        assert admitted(await ask(limiter, 1, Windows("2", WINDOWS.each))) == 1
        redis.kill()
        assert admitted(await ask(limiter, 10)) == 6


@pytest.mark.usefixtures("patience")
async def test_a_cluster_keeps_every_account_on_one_of_its_servers() -> None:
    with RedisCluster() as cluster:
        async with limiters(cluster.url, 2) as several:
            for account in range(20):
                windows = Windows(str(account), (Window("key:1", 6), Window("chat", 4, 2)))
                told = await asyncio.gather(*(ask(limiter, 5, windows) for limiter in several))
                assert sum(map(admitted, told)) == 4
