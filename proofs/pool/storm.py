"""F7: half of the accounts in a storm. How many callers noticed, how soon the accounts were out, and when back."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from proofs.pool.attempts import Receipt, Try, tries_at
from proofs.pool.steady_callers import TEXT, Callers, Placed, place
from proofs.pool.two_nodes import TwoNodes
from proofs.rig.patience import came_true_async
from proofs.rig.proof import say
from tools.simulator import Simulator

# What falls on which account.
WEATHER = {"p0": "0.9:503", "p1": "0.9:429", "p2": "0.9:503", "p3": "0.9:429", "p4": "0.9:503"}
# An account that a node sends no more than this many calls in a second is being tried, not used.
TRIALS_A_SECOND = 2
# An account is back when it answers at least this part of its even share of all calls, over these seconds.
SHARE_LEAST = 0.1
SHARE_SECONDS = 3.0
LOOK_EVERY_SECONDS = 0.25
WARM_UP = 40


class Plan(msgspec.Struct, frozen=True):
    per_second: float
    calm_seconds: float
    storm_seconds: float
    # How long to wait for their return.
    back_seconds: float


class Storm(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, by the wall clock that everybody here shares."""

    placed: Sequence[Placed]
    tries: Sequence[Try]
    began_at: float
    ended_at: float
    per_second: float

    @property
    def success(self) -> float:
        """Of the calls that were under way at any time of the storm, the part that went well."""
        inside = [one for one in self.placed if one.ended_at > self.began_at and one.begun_at < self.ended_at]
        return sum(one.went_well for one in inside) / len(inside)

    def eject_seconds(self) -> dict[str, float]:
        """By account: from the storm's begin until the first second in which no node used it any more."""
        node_of = {one.request_id: one.node for one in self.placed}
        moments: dict[tuple[str, int], list[float]] = {
            (name, node): [] for name in WEATHER for node in set(node_of.values())
        }
        for one in self.tries:
            if one.account in WEATHER and one.request_id in node_of:
                moments[one.account, node_of[one.request_id]].append(one.received_at - self.began_at)
        return {
            name: max(_quiet_from(sorted(own)) for (account, _), own in moments.items() if account == name)
            for name in WEATHER
        }

    def return_seconds(self) -> dict[str, float | None]:
        """By account: from the storm's end until it answers its share again; None where it never did."""
        return {name: _back_after(self.tries, name, self.ended_at, self.per_second) for name in WEATHER}


def _quiet_from(moments: Sequence[float]) -> float:
    """The first moment after 0 that is followed by a second with hardly any others."""
    for begin in (0.0, *(moment for moment in moments if moment >= 0)):
        if sum(begin < moment <= begin + 1 for moment in moments) <= TRIALS_A_SECOND:
            return begin
    return moments[-1]


def _back_after(tries: Sequence[Try], account: str, ended_at: float, per_second: float) -> float | None:
    answered = sorted(
        one.received_at - ended_at
        for one in tries
        if one.account == account and one.went_well and one.received_at >= ended_at
    )
    least = max(1, round(SHARE_LEAST * SHARE_SECONDS * per_second / 10))
    whole = zip(answered, answered[least - 1 :], strict=False)
    return next((last for first, last in whole if last - first <= SHARE_SECONDS), None)


async def endure(site: TwoNodes, plan: Plan) -> Storm:
    """Steady calls through calm, storm, and calm again until every account is back."""
    await _warm_up(site)
    callers = Callers(site.nodes, site.customers, plan.per_second)
    calling = asyncio.create_task(callers.run())
    say(f"{plan.per_second:g} calls a second; calm for {plan.calm_seconds:g} s")
    await asyncio.sleep(plan.calm_seconds)
    began_at = time.time()
    await _set_weather(site.simulators, WEATHER)
    say(f"a storm on {len(WEATHER)} of {len(site.simulators)} accounts for {plan.storm_seconds:g} s")
    await asyncio.sleep(plan.storm_seconds)
    await _set_weather(site.simulators, dict.fromkeys(WEATHER, ""))
    ended_at = time.time()
    say("calm again, until they are back")
    await came_true_async(partial(_all_back, site, ended_at, plan), within_seconds=plan.back_seconds)
    callers.stop()
    await calling
    # Lines of the truth are written a moment after the calls they tell of.
    await asyncio.sleep(0.2)
    return Storm(
        placed=callers.placed,
        tries=tries_at(site.simulators),
        began_at=began_at,
        ended_at=ended_at,
        per_second=plan.per_second,
    )


async def _warm_up(site: TwoNodes) -> None:
    """The first calls of a process load what the later ones find there."""
    for number in range(WARM_UP):
        await place(site.nodes, number % len(site.nodes), site.customers[number], TEXT, stream=number % 4 < 2)


async def _set_weather(simulators: Mapping[str, Simulator], weather: Mapping[str, str]) -> None:
    await asyncio.gather(*(asyncio.to_thread(simulators[name].storm, kind) for name, kind in weather.items()))


async def _all_back(site: TwoNodes, ended_at: float, plan: Plan) -> bool:
    await asyncio.sleep(LOOK_EVERY_SECONDS)
    tries = tries_at({name: site.simulators[name] for name in WEATHER}, since=ended_at)
    return all(_back_after(tries, name, ended_at, plan.per_second) is not None for name in WEATHER)


def tell(storm: Storm) -> None:
    """Where calls went, second by second from just before the storm until after it."""
    last = math.ceil(max(one.received_at for one in storm.tries) - storm.began_at)
    for name, weather in WEATHER.items():
        seconds = Counter(math.floor(one.received_at - storm.began_at) for one in storm.tries if one.account == name)
        say(f"{name} ({weather}), calls a second: {' '.join(str(seconds[second]) for second in range(-3, last))}")


def tell_failures(storm: Storm, receipts: Mapping[str, Receipt]) -> None:
    """What became of those who were not answered well: a single attempt means that nobody was allowed another."""
    failed = [one for one in storm.placed if not one.went_well]
    attempts = Counter(len(receipts[one.request_id].attempts) for one in failed if one.request_id in receipts)
    answers = Counter(f"{one.heard.answer.status} {one.heard.answer.code}" for one in failed)
    say(f"callers who were not answered well: {dict(answers)}, by number of attempts: {dict(attempts)}")
