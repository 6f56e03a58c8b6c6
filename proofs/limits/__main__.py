"""prove-limits: fair shares that hold across nodes, with Redis and without, and bans that fall on the right one.

Sites of two nodes each, on one PostgreSQL. Callers press, and the limiter's own admission times are judged over every
window: a key, the keys of an account, Redis frozen, killed and empty, a Cluster, a failover by Sentinel. Then floods of
invalid calls, true and under false names; and what the limits cost a worker.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import TypeVar

import msgspec
import uvloop

from proofs.limits import bans, outage, shards, shares, windows
from proofs.limits.cost import Cost, measure
from proofs.limits.findings import Findings
from proofs.limits.shared_stores import SharedStores, Wish
from proofs.limits.site import Site
from proofs.limits.stalls import Stalls
from proofs.rig.checks import failed
from proofs.rig.proof import Run, prove, say
from tools.services import Redis, RedisCluster, RedisSentinel

ADDED_US_MOST = 15.0
# Places are taken in a burst every minute: not everywhere at once.
APART_SECONDS = 5.0

Store = TypeVar("Store", Redis, RedisCluster, RedisSentinel)


class Size(msgspec.Struct, frozen=True, kw_only=True):
    shares_seconds: float
    # How long each of the 64 connections waits after it was refused.
    pause_seconds: float
    outage: outage.Plan
    cluster_seconds: float
    sentinel: shards.Plan
    # Short ones, with limits and as many without.
    cost_turns: int


SIZES = {
    "small": Size(
        shares_seconds=125,
        pause_seconds=0.2,
        outage=outage.Plan(freeze=8, thaw=11, kill=18, restart=38, end=160),
        cluster_seconds=70,
        sentinel=shards.Plan(kill=20, end=150),
        cost_turns=20,
    ),
    "full": Size(
        shares_seconds=185,
        pause_seconds=0.05,
        outage=outage.Plan(freeze=20, thaw=25, kill=70, restart=90, end=220),
        cluster_seconds=130,
        sentinel=shards.Plan(kill=65, end=200),
        cost_turns=600,
    ),
}


LAST_LINE = (
    *("max_in_window", "min_in_window", "overshoot_redis_down", "ban_seconds", "cluster", "sentinel"),
    "limits_added_us",
)


def main(run: Run) -> int:
    windows.self_check()
    findings = Findings()
    with ExitStack() as stack:
        say("starting PostgreSQL and a provider")
        proof = Proof(SharedStores(stack), findings, SIZES[run.size], run)
        uvloop.run(proof.run())
        cost = proof.cost()
    say(
        f"limits_off_us={cost.off_us:.0f} limits_on_us={cost.on_us:.0f} added_us={cost.added_us:.1f} "
        f"({cost.least_us:.1f} to {cost.most_us:.1f}) added_in_all_us={cost.added_in_all_us:.1f} calls={cost.calls}"
    )
    if run.size == "full":
        findings.check("limits are cheap", cost.added_us <= ADDED_US_MOST, f"{cost.added_us:.1f} µs")
    return 1 if failed(findings.checks, timed=run.judges_timings) else 0


class Proof:
    """The acts. Those that do not disturb each other happen at once, each at a site of its own."""

    def __init__(self, stores: SharedStores, findings: Findings, asked: Size, run: Run) -> None:
        self._figures = run.figures
        self._stores = stores
        self._findings = findings
        self._asked = asked

    async def run(self) -> None:
        async with AsyncExitStack() as sites:
            say("building four sites")
            outage_site = await sites.enter_async_context(self._site("outage", Redis(), outage.WISHES))
            sentinel = await sites.enter_async_context(
                self._site("sentinel", RedisSentinel(), shards.SENTINEL_WISHES, workers=1)
            )
            shares_site = await sites.enter_async_context(self._site("shares", Redis(), shares.WISHES))
            cluster = await sites.enter_async_context(
                self._site("cluster", RedisCluster(), shards.CLUSTER_WISHES | bans.WISHES)
            )
            stalls = Stalls()
            watching = asyncio.create_task(stalls.watch())
            async with asyncio.TaskGroup() as lanes:
                lanes.create_task(self._outage(*outage_site))
                await asyncio.sleep(APART_SECONDS)
                lanes.create_task(self._sentinel(*sentinel))
                await asyncio.sleep(APART_SECONDS)
                lanes.create_task(self._shares(*shares_site))
                await asyncio.sleep(APART_SECONDS)
                await self._cluster(*cluster)
                await self._bans(*cluster)
            watching.cancel()
            say(str(stalls))

    def cost(self) -> Cost:
        say("what the limits cost a worker")
        with ExitStack() as stack:
            cost = measure(stack, self._asked.cost_turns)
        self._figures["limits_added_us"] = round(cost.added_us, 1)
        return cost

    async def _outage(self, site: Site, redis: Redis) -> None:
        overshoot = await outage.prove(site, redis, self._findings, self._asked.outage)
        self._figures["overshoot_redis_down"] = round(overshoot, 2)

    async def _sentinel(self, site: Site, sentinel: RedisSentinel) -> None:
        holds = await shards.prove_sentinel(site, sentinel, self._findings, self._asked.sentinel)
        self._figures["sentinel"] = "ok" if holds else "failed"

    async def _shares(self, site: Site, _: Redis) -> None:
        found = await shares.prove(
            site, self._findings, seconds=self._asked.shares_seconds, pause_seconds=self._asked.pause_seconds
        )
        self._figures |= {"max_in_window": found.most, "min_in_window": found.fewest}

    async def _cluster(self, site: Site, cluster: RedisCluster) -> None:
        holds = await shards.prove_cluster(site, cluster, self._findings, self._asked.cluster_seconds)
        self._figures["cluster"] = "ok" if holds else "failed"

    async def _bans(self, site: Site, cluster: RedisCluster) -> None:
        seconds = await bans.Bans(site, cluster.masters, self._findings).prove()
        self._figures["ban_seconds"] = round(seconds, 2)

    @asynccontextmanager
    async def _site(
        self, name: str, store: Store, wishes: Mapping[str, Wish], *, workers: int = 2
    ) -> AsyncIterator[tuple[Site, Store]]:
        """A site with its store, warm, started and stopped by threads."""
        stack = ExitStack()
        try:
            await asyncio.to_thread(stack.enter_context, store)
            site = await asyncio.to_thread(Site, stack, self._stores, name, store.url)
            await asyncio.to_thread(site.open, wishes, workers=workers)
            await site.warm_up()
            yield site, store
        finally:
            await asyncio.to_thread(stack.close)


if __name__ == "__main__":
    prove(main, *LAST_LINE)
