"""Redis frozen, killed, and back with empty hands: calls go on, nobody gets more than twice its limit."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial

import msgspec

from proofs.limits.demand import Heard, Pressure, act, press, sit_out
from proofs.limits.findings import Findings, fewest, most, written_moments_us
from proofs.limits.line import get
from proofs.limits.shared_stores import Wish
from proofs.limits.shares import LIMIT
from proofs.limits.site import Admission, Site, lines_to_every_worker
from proofs.rig.proof import say
from tools.services import Redis

# One presses all the time. One comes when Redis has gone. One had its whole limit of one process when it went, and
# turns to all the others then.
STEADY, LATE, MOVING = "steady", "late", "moving"
WISHES = {STEADY: Wish(), LATE: Wish(), MOVING: Wish()}
CONNECTIONS = 12
PAUSE_SECONDS = 0.2
# The others come so much later.
AFTER_KILL_SECONDS = 1.0
OVERSHOOT_MOST = 2.0
EXACT_AFTER_SECONDS = 60.0
CALL_SECONDS_MOST = 1.5


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What happens after so many seconds."""

    freeze: float
    thaw: float
    kill: float
    restart: float
    end: float


async def prove(site: Site, redis: Redis, findings: Findings, plan: Plan) -> float:
    """How many times its limit a key had in any 60 seconds."""
    say(f"{site.name}: Redis frozen at {plan.freeze:g} s, killed at {plan.kill:g} s, back at {plan.restart:g} s")
    heard = {name: Heard() for name in WISHES}
    begun = time.monotonic()
    async with asyncio.TaskGroup() as callers:
        callers.create_task(press_all_the_time(site, STEADY, begun, (0.0, plan.end), heard[STEADY]))
        for name in (LATE, MOVING):
            times = (plan.kill + AFTER_KILL_SECONDS, plan.end)
            callers.create_task(press_all_the_time(site, name, begun, times, heard[name]))
        callers.create_task(_exhaust_at_one_process(site, MOVING, heard[MOVING]))
        frozen_at = await act(plan.freeze, begun, redis.freeze)
        thawed_at = await act(plan.thaw, begun, redis.thaw)
        killed_at = await act(plan.kill, begun, redis.kill)
        back_at = await act(plan.restart, begun, redis.start)
        say(f"{site.name}: Redis is back, and empty")
    _check_waits(findings, heard[STEADY], {"frozen": (frozen_at, thawed_at + 1), "gone": (killed_at, back_at + 1)})
    return await judge(site, findings, heard, back_at)


async def press_all_the_time(site: Site, name: str, begun: float, times: tuple[float, float], heard: Heard) -> None:
    """`times`: from when until when, in seconds after `begun`."""
    pressure = Pressure(keys=[site.customers[name].key.text], connections=CONNECTIONS, pause_seconds=PAUSE_SECONDS)
    await sit_out(begun, times[0])
    await press(site.nodes, pressure, times[1] - times[0], heard)


async def _exhaust_at_one_process(site: Site, name: str, heard: Heard) -> None:
    lines = await lines_to_every_worker(site.nodes)
    line = next(iter(lines.values()))
    for _ in range(LIMIT):
        heard.note(await line.ask(get("/v1/models", site.customers[name].key.text)))
    for one in lines.values():
        one.close()


async def judge(site: Site, findings: Findings, heard: Mapping[str, Heard], back_at: float) -> float:
    """Every customer by itself; how many times its limit one of them had at most."""
    worst, exact_from = 0.0, back_at + EXACT_AFTER_SECONDS
    for name, own in heard.items():
        key_id = site.customers[name].key.key_id
        moments_us = await written_moments_us(site, own, findings, partial(_is_of, key_id))
        highest, exact = most(moments_us), most(moments_us, exact_from)
        least = fewest(moments_us, own, exact_from)
        who = f"{site.name}, {name}"
        findings.check_answers(who, own)
        say(f"{who}: {highest} at most in 60 s; from 60 s after: {exact} at most, {least} at least in 61 s")
        findings.check(f"{who}: never more than twice the limit", highest <= OVERSHOOT_MOST * LIMIT, highest)
        findings.check(f"{who}: exact again after 60 s", 0 < exact <= LIMIT, exact)
        worst = max(worst, highest / LIMIT)
    return worst


def _is_of(key_id: int, admission: Admission) -> bool:
    return admission.key_id == key_id


def _check_waits(findings: Findings, heard: Heard, times: Mapping[str, tuple[float, float]]) -> None:
    for name, (begun, ended) in times.items():
        p99, longest = heard.longest_seconds(begun, ended)
        say(f"Redis {name}: calls took {p99 * 1_000:.0f} ms at p99, {longest * 1_000:.0f} ms at most")
        findings.check(
            f"no call hangs while Redis is {name}", longest <= CALL_SECONDS_MOST, f"{longest:.2f} s", timed=True
        )
