"""Fair shares where nothing fails: a key under pressure, the keys of one account, and a caller that waits as told."""

import asyncio
import time

import msgspec

from proofs.limits.demand import CHATS, RETRY_AFTER, Heard, Pressure, press
from proofs.limits.findings import Findings, fewest, most, written_moments_us
from proofs.limits.line import Line, Reply, get
from proofs.limits.shared_stores import Wish
from proofs.limits.site import Site
from proofs.rig.proof import say

LIMIT, PEAK = 60, 120
FEWEST = 59
WISHES = {"one key": Wish(), "ten keys": Wish(keys=10), "alone": Wish()}
KEY_CONNECTIONS, ACCOUNT_CONNECTIONS = 64, 20
ACCOUNT_PAUSE_SECONDS = 0.25
# The lone caller is in no hurry, so that its first call leaves the window seconds before its last.
LONE_PAUSE_SECONDS = 0.1
# It looks in this much before its time, and must find the door still shut.
EARLY_SECONDS = 1.25


class Shares(msgspec.Struct, frozen=True):
    most: int
    fewest: int


async def prove(site: Site, findings: Findings, *, seconds: float, pause_seconds: float) -> Shares:
    say(f"{site.name}: {KEY_CONNECTIONS} connections on one key, ten keys of one account, a lone caller: {seconds:g} s")
    one_key, ten_keys = Heard(), Heard()
    pressed = Pressure(
        keys=[site.customers["one key"].key.text], connections=KEY_CONNECTIONS, pause_seconds=pause_seconds
    )
    peak = Pressure(
        keys=[key.text for key in site.customers["ten keys"].keys],
        connections=ACCOUNT_CONNECTIONS,
        pause_seconds=ACCOUNT_PAUSE_SECONDS,
        calls=CHATS,
    )
    async with asyncio.TaskGroup() as acts:
        acts.create_task(press(site.nodes, pressed, seconds, one_key))
        acts.create_task(press(site.nodes, peak, seconds, ten_keys))
        acts.create_task(wait_as_told(site, findings, seconds))
    await _judge_account(site, findings, ten_keys)
    return await _judge_key(site, findings, one_key)


async def _judge_key(site: Site, findings: Findings, heard: Heard) -> Shares:
    key_id = site.customers["one key"].key.key_id
    moments_us = await written_moments_us(site, heard, findings, lambda admission: admission.key_id == key_id)
    shares = Shares(most(moments_us), fewest(moments_us, heard) or 0)
    findings.check_answers("one key", heard)
    say(f"one key: {len(moments_us)} admitted, {shares.most} at most in 60 s, {shares.fewest} at least in 61 s")
    findings.check("a key never has more than its limit", shares.most <= LIMIT, shares.most)
    findings.check("a key has its limit while it asks for it", shares.fewest >= FEWEST, shares.fewest)
    return shares


async def _judge_account(site: Site, findings: Findings, heard: Heard) -> None:
    account_id = site.customers["ten keys"].account_id
    moments_us = await written_moments_us(site, heard, findings, lambda admission: admission.account_id == account_id)
    found = most(moments_us)
    findings.check_answers("ten keys of one account", heard)
    say(f"ten keys: {len(moments_us)} admitted, {found} at most in 60 s")
    findings.check("ten keys never have more than their account's peak", found <= PEAK, found)
    findings.check("an account can have more than its standard rate", found > LIMIT, found)


async def wait_as_told(site: Site, findings: Findings, seconds: float) -> None:
    """One call after another; who is refused looks in early once, then comes back exactly when it was told to."""
    ends_at = time.monotonic() + seconds
    asked = get("/v1/models", site.customers["alone"].key.text)
    line = await Line.to(site.nodes[0].port)
    told, early, late = [], 0, 0
    while True:
        reply = await line.ask(asked)
        if reply.status == 200:
            await asyncio.sleep(LONE_PAUSE_SECONDS)
            if time.monotonic() > ends_at:
                break
            continue
        seconds_told = int(reply.headers.get(RETRY_AFTER, "1"))
        if time.monotonic() + seconds_told > ends_at:
            break
        told.append(seconds_told)
        if seconds_told > EARLY_SECONDS:
            await _until(reply, seconds_told - EARLY_SECONDS)
            early += (await line.ask(asked)).status == 200
        await _until(reply, seconds_told)
        late += (await line.ask(asked)).status != 200
    line.close()
    say(f"a lone caller was told to wait {told} s")
    findings.check("who waits as told is let in", bool(told) and not late, f"{late} of {len(told)} times it was not")
    findings.check("who comes a second early is not", not early, f"{early} of {len(told)} times it was")


async def _until(reply: Reply, seconds: float) -> None:
    await asyncio.sleep(max(0.0, reply.heard_at + seconds - time.time()))
