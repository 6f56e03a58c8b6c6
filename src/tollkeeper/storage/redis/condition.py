"""Redis as `tollkeeper doctor` finds it: reachable, a master, and one that forgets nothing before its time."""

import time

from redis.exceptions import AuthenticationError, RedisError

from tollkeeper.core.diagnosis import Diagnosis, broken, clock, to_do, well
from tollkeeper.storage.redis.places import RedisServer, client_of, places_of

OLDEST_VERSION = 7
WITHOUT = "The service goes on without it, and then each process limits rates by itself."


async def diagnose_redis(url: str) -> list[Diagnosis]:
    places = places_of(url)
    try:
        servers = [shard.place for shard in await places.shards()]
    except (OSError, TimeoutError) as problem:
        return [_not_reached(f"nobody says where it is ({type(problem).__name__})")]
    return [line for server in servers for line in await _server(server)]


async def _server(server: RedisServer) -> list[Diagnosis]:
    client = client_of(server)
    try:
        facts = await client.info()
        begun = time.time()
        seconds, micros = await client.time()
        skew = seconds + micros / 1e6 - (begun + time.time()) / 2
    except AuthenticationError:
        return [_not_reached("does not let us in", "Check user and password in TOLLKEEPER_REDIS_URL.")]
    except (RedisError, OSError, TimeoutError) as problem:
        return [_not_reached(f"did not answer ({type(problem).__name__})")]
    finally:
        await client.aclose()
    return [_state(facts), _memory(facts), clock("Redis clock", skew)]


def _not_reached(told: str, remedy: str = "Is it up, and is TOLLKEEPER_REDIS_URL right?") -> Diagnosis:
    return broken("Redis", told, f"{remedy} {WITHOUT}")


def _state(facts: dict[str, object]) -> Diagnosis:
    version = str(facts.get("redis_version", "0"))
    if facts.get("role") != "master":
        return broken("Redis", "is a replica and takes no writes", "Point TOLLKEEPER_REDIS_URL at the master.")
    if int(version.partition(".")[0]) < OLDEST_VERSION:
        return broken("Redis", f"is version {version}", f"Upgrade it: {OLDEST_VERSION} or newer is needed.")
    return well("Redis", f"answers, version {version}; nothing in it needs to survive a restart")


def _memory(facts: dict[str, object]) -> Diagnosis:
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if policy == "noeviction":
        return well("Redis memory", "forgets nothing before its time (noeviction)")
    told = f"maxmemory-policy is {policy}: when memory is short it forgets counts of calls, and lets too many through"
    return to_do("Redis memory", told, "config set maxmemory-policy noeviction, also in redis.conf.")
