"""Load as a process of its own: plans on its input, what was measured on its output, both JSON; one after another.

Closed loop: every connection asks again as soon as it was answered. Open loop: calls come by chance at a given rate,
however long the answers take.
"""

import asyncio
import itertools
import os
import random
import sys
import time
from collections.abc import Sequence

import msgspec
import uvloop

from proofs.rig.measuring.light_caller import Caller, head
from proofs.rig.measuring.measured_orders import NUMBER
from proofs.rig.measuring.processes import cpu_seconds
from proofs.rig.measuring.stolen import share, stolen_seconds

SEED = 7
MORE_SECONDS = 0.1


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    port: int
    connections: int
    # Every call takes the next, and after the last the first again.
    keys: list[str]
    # Headers beside the usual ones.
    headers: dict[str, str] = {}
    body: str
    # How many events an answer must have; 0 where it is whole.
    events: int
    # Connections begin to ask one after another within this time: streams that begin together speak together.
    begin_within_seconds: float = 0
    # Before anything counts, and while it counts.
    warm_seconds: float
    seconds: float
    # None: a closed loop.
    per_second: float | None
    # Process ids by name, whose time is measured.
    watched: dict[str, int]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    calls: int
    # Those before the measuring began and after it ended, too.
    calls_in_all: int
    events: int
    # Of these, how many did not share their chunk with an earlier one.
    first_events: int
    seconds: float
    p50_ms: float
    p99_ms: float
    # How long stamped events were under way.
    late_p50_us: float
    late_p99_us: float
    cpu_seconds: dict[str, float]
    # Of all cores' time: what other guests of the machine had.
    stolen_share: float

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds

    def cpu_us_per_call(self, *names: str) -> float:
        """Of all these together."""
        return sum(self.cpu_seconds[name] for name in names) * 1e6 / self.calls

    def cpu_us_per_event(self, name: str) -> float:
        return self.cpu_seconds[name] * 1e6 / self.events


class Count(msgspec.Struct, frozen=True):
    """Everything that has been counted up to a moment."""

    at: float
    calls: int
    events: int
    first_events: int
    stamps: int
    cpu_seconds: dict[str, float]
    stolen_seconds: float


class Load:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._callers: list[Caller] = []
        self._body = plan.body.encode()
        self._heads = itertools.cycle([head(key, self._body, plan.headers) for key in plan.keys])
        self._waits: list[float] = []
        self._late_ns: list[int] = []
        self._stopping = False

    async def run(self) -> Measured:
        port, connections = self._plan.port, self._plan.connections
        self._callers = [await Caller.connected(port, self._late_ns) for _ in range(connections)]
        driven = asyncio.ensure_future(self._closed() if self._plan.per_second is None else self._open())
        await self._wait(driven, self._plan.warm_seconds)
        begin = self._count()
        await self._wait(driven, self._plan.seconds)
        # A machine with other work may leave us no call in so short a time; what one costs is not told by none.
        while len(self._waits) == begin.calls and not driven.done():
            await self._wait(driven, MORE_SECONDS)
        end = self._count()
        self._stopping = True
        await driven
        for caller in self._callers:
            caller.close()
        waits, late_ns = sorted(self._waits[begin.calls : end.calls]), sorted(self._late_ns[begin.stamps : end.stamps])
        return Measured(
            calls=end.calls - begin.calls,
            calls_in_all=len(self._waits),
            events=end.events - begin.events,
            first_events=end.first_events - begin.first_events,
            seconds=end.at - begin.at,
            p50_ms=quantile(waits, 0.5) * 1_000,
            p99_ms=quantile(waits, 0.99) * 1_000,
            late_p50_us=quantile(late_ns, 0.5) / 1_000,
            late_p99_us=quantile(late_ns, 0.99) / 1_000,
            cpu_seconds={name: spent - begin.cpu_seconds[name] for name, spent in end.cpu_seconds.items()},
            stolen_share=share(end.stolen_seconds - begin.stolen_seconds, end.at - begin.at),
        )

    async def _closed(self) -> None:
        async def customer(caller: Caller, after_seconds: float) -> None:
            await asyncio.sleep(after_seconds)
            while not self._stopping:
                await self._call(caller, begun=time.perf_counter())

        apart_seconds = self._plan.begin_within_seconds / self._plan.connections
        await asyncio.gather(*(customer(caller, number * apart_seconds) for number, caller in enumerate(self._callers)))

    async def _open(self) -> None:
        assert self._plan.per_second is not None
        chance, loop = random.Random(SEED), asyncio.get_running_loop()
        idle: asyncio.Queue[Caller] = asyncio.Queue()
        for caller in self._callers:
            idle.put_nowait(caller)

        async def customer() -> None:
            # Who finds every line busy waits, and that wait counts.
            begun = time.perf_counter()
            caller = await idle.get()
            await self._call(caller, begun=begun)
            idle.put_nowait(caller)

        due = loop.time()
        async with asyncio.TaskGroup() as customers:
            while not self._stopping:
                due += chance.expovariate(self._plan.per_second)
                await asyncio.sleep(due - loop.time())
                customers.create_task(customer())

    async def _call(self, caller: Caller, *, begun: float) -> None:
        events_before = caller.events
        body = self._body.replace(NUMBER.encode(), b"%016d" % (time.monotonic_ns() % 10 ** len(NUMBER)))
        await caller.ask(next(self._heads) + body)
        self._waits.append(time.perf_counter() - begun)
        came = caller.events - events_before
        assert came == self._plan.events, f"{came} events came, not {self._plan.events}"

    def _count(self) -> Count:
        return Count(
            at=time.perf_counter(),
            calls=len(self._waits),
            events=sum(caller.events for caller in self._callers),
            first_events=sum(caller.first_events for caller in self._callers),
            stamps=len(self._late_ns),
            cpu_seconds={name: cpu_seconds(pid) for name, pid in self._plan.watched.items()}
            | {"load": cpu_seconds(os.getpid())},
            stolen_seconds=stolen_seconds(),
        )

    @staticmethod
    async def _wait(driven: asyncio.Future[None], seconds: float) -> None:
        """Let some time pass; a load that has failed is not waited for."""
        done, _ = await asyncio.wait([driven], timeout=seconds)
        for failed in done:
            failed.result()


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[int(len(ordered) * share)] if ordered else 0.0


async def run(plans: Sequence[Plan]) -> list[Measured]:
    return [await Load(plan).run() for plan in plans]


def main() -> None:
    plans = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Plan])
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(run(plans))))


if __name__ == "__main__":
    main()
