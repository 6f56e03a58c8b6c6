"""The same limits where Redis is a Cluster, and where Sentinel puts a replica in its master's place."""

import asyncio
import time

import msgspec

from proofs.limits.demand import LOOKUPS, Heard, Pressure, act, press
from proofs.limits.findings import Findings, fewest, most, written_moments_us
from proofs.limits.outage import LATE, STEADY, judge, press_all_the_time
from proofs.limits.shared_stores import Customer, Wish
from proofs.limits.shares import LIMIT
from proofs.limits.site import Site
from proofs.rig.proof import say
from tools.services import RedisCluster, RedisSentinel

# So many that no shard is without any.
ACCOUNTS = 12
CLUSTER_WISHES = {f"account {number}": Wish() for number in range(ACCOUNTS)}
CLUSTER_PAUSE_SECONDS = 0.25
SENTINEL_WISHES = {STEADY: Wish(), LATE: Wish()}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What happens after so many seconds."""

    kill: float
    end: float


async def prove_cluster(site: Site, cluster: RedisCluster, findings: Findings, seconds: float) -> bool:
    say(f"{site.name}: {ACCOUNTS} accounts on three shards for {seconds:g} s")
    heard = {name: Heard() for name in CLUSTER_WISHES}
    async with asyncio.TaskGroup() as acts:
        for name, one in heard.items():
            pressure = Pressure(
                keys=[site.customers[name].key.text],
                connections=len(site.nodes),
                pause_seconds=CLUSTER_PAUSE_SECONDS,
                calls=LOOKUPS,
            )
            acts.create_task(press(site.nodes, pressure, seconds, one))
    found = {}
    for name, one in heard.items():
        moments_us = await _moments_us(site, site.customers[name], one, findings)
        found[name] = most(moments_us), fewest(moments_us, one)
    in_shards = [await asyncio.to_thread(master.ask, "DBSIZE") for master in cluster.masters]
    say(f"cluster: at most in 60 s and at least in 61 s: {list(found.values())}; keys in its shards: {in_shards}")
    answers = Heard()
    for one in heard.values():
        answers.statuses += one.statuses
        answers.limits += one.limits
        answers.wrong += one.wrong
        answers.examples += one.examples[:1]
    return all(
        [
            findings.check_answers("cluster", answers),
            findings.check("cluster: every shard has its part", all(in_shards), in_shards),
            findings.check(
                "cluster: every account has its limit and no more",
                all(highest == LIMIT for highest, _ in found.values()),
                found,
            ),
        ]
    )


async def prove_sentinel(site: Site, sentinel: RedisSentinel, findings: Findings, plan: Plan) -> bool:
    say(f"{site.name}: the master is killed at {plan.kill:g} s")
    heard = {name: Heard() for name in SENTINEL_WISHES}
    begun = time.monotonic()
    async with asyncio.TaskGroup() as callers:
        callers.create_task(press_all_the_time(site, STEADY, begun, (0.0, plan.end), heard[STEADY]))
        callers.create_task(press_all_the_time(site, LATE, begun, (plan.kill, plan.end), heard[LATE]))
        killed_at = await act(plan.kill, begun, sentinel.kill_master)
        over_at = await act(0, begun, sentinel.wait_for_failover)
        say(f"{site.name}: the replica took over after {over_at - killed_at:.1f} s")
    own = Findings()
    await judge(site, own, heard, over_at)
    findings.checks += own.checks
    return all(check.holds for check in own.checks)


async def _moments_us(site: Site, customer: Customer, heard: Heard, findings: Findings) -> list[int]:
    return await written_moments_us(
        site, heard, findings, lambda admission: admission.account_id == customer.account_id
    )
