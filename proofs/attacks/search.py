"""The search for free rides: ways are drawn, tried once to see whether they are ways at all, and then many times."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from proofs.attacks.moments import Moment
from proofs.attacks.raw_call import Heard, call
from proofs.attacks.target import Target
from proofs.attacks.ways import Try, Way, a_try, draw_ways
from proofs.rig.customers import Customer
from proofs.rig.proof import say

AT_ONCE = 64
FLUSH_EVERY_SECONDS = 10
# Orders of some ways that are drawn are refused.
DRAWN_PERCENT = 170


class Plan(msgspec.Struct, frozen=True):
    ways: int
    calls_each: int

    @property
    def searched(self) -> int:
        """So many calls seek a free ride; that is what the search is judged to have done."""
        return self.ways * self.calls_each

    @property
    def drawn(self) -> int:
        return self.ways * DRAWN_PERCENT // 100

    @property
    def calls(self) -> int:
        """At most, with those that only look."""
        return self.drawn + self.searched


class Tried(msgspec.Struct, frozen=True):
    tried: Try
    heard: Heard
    # Whether it only saw if the order is accepted.
    is_look: bool = False


class Search:
    def __init__(self, target: Target, customers: Iterator[Customer], chance: random.Random) -> None:
        self._target = target
        self._customers = customers
        self._chance = chance
        self._free = asyncio.Semaphore(AT_ONCE)
        self._ended = 0

    async def run(self, plan: Plan) -> list[Tried]:
        """Every call that was made, those that only looked included."""
        looks = await self._look(plan)
        fit = [look for look in looks if not 400 <= look.heard.status < 500]
        accepted = fit[: plan.ways]
        say(f"{len(looks)} ways drawn, {len(looks) - len(fit)} refused; {len(accepted)} × {plan.calls_each} calls")
        telling = asyncio.create_task(self._tell(len(accepted) * plan.calls_each))
        tries = [
            a_try(look.tried.way, next(self._customers), look.heard.size_bytes, self._chance)
            for look in accepted
            for _ in range(plan.calls_each)
        ]
        self._chance.shuffle(tries)
        tried = await self._make(tries)
        telling.cancel()
        return [*looks, *tried]

    async def _look(self, plan: Plan) -> list[Tried]:
        """Heard to its end, an answer of middling length: how large it is, and whether the order is refused."""
        drawn = islice(draw_ways(self._chance), plan.drawn)
        looks = await self._make([_patient(way, next(self._customers)) for way in drawn])
        return [msgspec.structs.replace(look, is_look=True) for look in looks]

    async def _make(self, tries: Sequence[Try]) -> list[Tried]:
        return await asyncio.gather(*map(self._one, tries))

    async def _one(self, tried: Try) -> Tried:
        async with self._free:
            heard = await call(self._target.node.port, tried.sent, tried.leaving, self._target.secrets)
        self._ended += 1
        return Tried(tried, heard)

    async def _tell(self, total: int) -> None:
        while True:
            await asyncio.sleep(FLUSH_EVERY_SECONDS)
            say(f"{self._ended:,} of about {total:,} calls ended")


def _patient(way: Way, customer: Customer) -> Try:
    staying = msgspec.structs.replace(way, moment=Moment.NEVER)
    return msgspec.structs.replace(a_try(staying, customer, 0, random.Random(way.number)), way=way)
