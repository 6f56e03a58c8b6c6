"""What an address of Redis says, and who is found there."""

import itertools

import pytest

from tollkeeper.storage.redis.places import Mode, RedisPlaces, RedisServer, places_of
from tools.services import RedisCluster, RedisSentinel


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("redis://one:1/3", RedisPlaces(mode=Mode.SINGLE, seeds=(RedisServer(host="one", port=1, database=3),))),
        (
            "rediss://me:p%40ss@one:1",
            RedisPlaces(
                mode=Mode.SINGLE, seeds=(RedisServer(host="one", port=1, tls=True, username="me", password="p@ss"),)
            ),
        ),
        (
            "unix:///run/redis.sock",
            RedisPlaces(mode=Mode.SINGLE, seeds=(RedisServer(host="localhost", port=6379, path="/run/redis.sock"),)),
        ),
        (
            "redis+sentinel://:secret@one:1,[::1]:2/main/4",
            RedisPlaces(
                mode=Mode.SENTINEL,
                seeds=(
                    RedisServer(host="one", port=1, password="secret"),
                    RedisServer(host="::1", port=2, password="secret"),
                ),
                service="main",
                database=4,
            ),
        ),
        (
            "rediss+cluster://one:1,two:2",
            RedisPlaces(
                mode=Mode.CLUSTER,
                seeds=(RedisServer(host="one", port=1, tls=True), RedisServer(host="two", port=2, tls=True)),
            ),
        ),
    ],
)
def test_an_address_says_where_redis_is(url: str, places: RedisPlaces) -> None:
    assert places_of(url) == places


@pytest.mark.not_quick
async def test_a_cluster_says_who_has_which_slots() -> None:
    with RedisCluster() as cluster:
        shards = await places_of(cluster.url).shards()
    assert len(shards) == 3
    slots = sorted(one for shard in shards for one in shard.slots)
    assert slots[0][0] == 0
    assert slots[-1][1] == 16_383
    assert all(last + 1 == first for (_, last), (first, _) in itertools.pairwise(slots))


@pytest.mark.not_quick
async def test_sentinel_says_who_is_master_now() -> None:
    with RedisSentinel() as sentinel:
        before = await places_of(sentinel.url).shards()
        sentinel.kill_master()
        sentinel.wait_for_failover()
        after = await places_of(sentinel.url).shards()
    assert len(before) == len(after) == 1
    assert before[0].place.port != after[0].place.port


@pytest.mark.not_quick
async def test_nobody_there_is_an_oserror() -> None:
    with pytest.raises(ConnectionError, match=r"\w"):
        await places_of("redis+cluster://127.0.0.1:1,127.0.0.1:2").shards()
    with pytest.raises(ConnectionError, match=r"\w"):
        await places_of("redis+sentinel://127.0.0.1:1/main").shards()
