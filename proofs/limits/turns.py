"""Turns, as a process of its own: a plan on its input, what each turn cost on its output, both JSON.

The same connections ask for one kind of customer and then for another, and so on, in turns that are short beside the
time in which a machine changes its speed.
"""

import asyncio
import itertools
import sys
import time
from typing import Any

import msgspec
import uvloop

from proofs.rig.measuring.light_caller import Caller, head
from proofs.rig.measuring.measured_orders import NUMBER
from proofs.rig.measuring.processes import cpu_seconds


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    port: int
    # Whose time is measured, with all below it.
    pid: int
    connections: int
    body: str
    # Of each kind of customers; every call takes the next, and after the last the first again.
    keys: dict[str, list[str]]
    warm_seconds: float
    # How many each kind has, and how long one is measured.
    turns: int
    turn_seconds: float


class Turn(msgspec.Struct, frozen=True):
    calls: int
    cpu_us_per_call: float


# What a turn of each kind cost, close after each other.
Pair = dict[str, Turn]


class Turns:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._body = plan.body.encode()
        self._heads = {
            kind: itertools.cycle([head(key, self._body) for key in keys]) for kind, keys in plan.keys.items()
        }
        self._kinds = list(plan.keys)
        self._kind = self._kinds[0]
        # The connections on which a call of the last turn is still under way.
        self._of_before: set[int] = set()
        self._all_changed = asyncio.Event()
        self._calls = 0
        self._stopping = False

    async def run(self) -> list[Pair]:
        callers = [await Caller.connected(self._plan.port) for _ in range(self._plan.connections)]
        driven = asyncio.gather(*(self._customer(number, caller) for number, caller in enumerate(callers)))
        await asyncio.wait([driven], timeout=self._plan.warm_seconds)
        pairs = [await self._pair(driven, number) for number in range(self._plan.turns)]
        self._stopping = True
        await driven
        return pairs

    async def _pair(self, driven: "asyncio.Future[list[None]]", number: int) -> Pair:
        """Whoever is first in one pair is last in the next: what only time changes falls on all alike."""
        first = number % len(self._kinds)
        found = {}
        for kind in [*self._kinds[first:], *self._kinds[:first]]:
            await self._change_to(driven, kind)
            calls, cpu = self._calls, cpu_seconds(self._plan.pid)
            await _wait(driven, self._plan.turn_seconds)
            while self._calls == calls:
                # Everything stood still.
                await _wait(driven, self._plan.turn_seconds)
            spent_us, calls = (cpu_seconds(self._plan.pid) - cpu) * 1e6, self._calls - calls
            found[kind] = Turn(calls, spent_us / calls)
        return found

    async def _change_to(self, driven: "asyncio.Future[list[None]]", kind: str) -> None:
        """Until no call of another kind is under way any more."""
        if kind != self._kind:
            self._kind, self._of_before = kind, set(range(self._plan.connections))
            self._all_changed.clear()
            changed = asyncio.ensure_future(self._all_changed.wait())
            either: set[asyncio.Future[Any]] = {driven, changed}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            await _wait(driven, 0)

    async def _customer(self, number: int, caller: Caller) -> None:
        while not self._stopping:
            body = self._body.replace(NUMBER.encode(), b"%016d" % (time.monotonic_ns() % 10 ** len(NUMBER)))
            await caller.ask(next(self._heads[self._kind]) + body)
            self._calls += 1
            self._of_before.discard(number)
            if not self._of_before:
                self._all_changed.set()


async def _wait(driven: "asyncio.Future[list[None]]", seconds: float) -> None:
    """Let some time pass; callers who have failed are not waited for."""
    done, _ = await asyncio.wait([driven], timeout=seconds)
    for failed in done:
        failed.result()


def main() -> None:
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(Turns(plan).run())))


if __name__ == "__main__":
    main()
