"""Callers of the fleet: calls at an even pace until they are told to stop, each with a key of its own.

Rules of this file
1. Whatever a caller saw of its call, its key tells the call apart in the books.
2. The pace does not depend on how soon answers come, up to `AT_ONCE` calls.
"""

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec
import uvloop

from proofs.rig.answer import Answer, Tail
from proofs.rig.chat import Heard, Order, call
from proofs.rig.customers import Customer
from proofs.rig.patience import READY_WITHIN_SECONDS, wait_until
from proofs.rig.proof import say
from proofs.rig.raw_calls import LONGEST_SECONDS
from tools.services.haproxy import MAIN_HOST

AT_ONCE = 600
TELL_SECONDS = 30.0
# As long as so many calls should take, before nobody believes any more that they come.
TIMES_AS_LONG = 4
# The main address, as the balancer's configuration calls it.
HOST = MAIN_HOST


class Kind(msgspec.Struct, frozen=True):
    """A kind of call: what is asked of the provider, and how many words must come."""

    directions: str
    words: int
    stream: bool
    max_tokens: int | None = None
    # An answer that goes on for longer hangs.
    longest_seconds: float = LONGEST_SECONDS


WHOLE = Kind("tokens=8", 8, False)
LATE_WHOLE = Kind("tokens=8 delay_ms=400", 8, False)
STREAM = Kind("tokens=12 chunk_ms=20", 12, True)
LONG_STREAM = Kind("tokens=60 chunk_ms=50", 60, True)
# Of half a minute, which a restart has to wait for; and of ten minutes.
LONGEST_STREAM = Kind("tokens=120 chunk_ms=250", 120, True)
TEN_MINUTES = Kind("tokens=1200 chunk_ms=500", 1_200, True, longest_seconds=1_200.0)
# Half streams.
MIXED = (WHOLE, STREAM, LATE_WHOLE, STREAM, WHOLE, LONG_STREAM)


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """One call that is over."""

    order: Order
    kind: Kind
    # By the monotonic clock.
    begun: float
    heard: Heard

    @property
    def answer(self) -> Answer:
        return self.heard.answer

    @property
    def ended(self) -> float:
        return self.begun + self.heard.seconds

    @property
    def is_served(self) -> bool:
        """Whether its caller got the whole of a right answer."""
        tail = Tail.DONE if self.kind.stream else Tail.ANSWER
        return self.answer.status == 200 and self.answer.tail is tail and self.answer.words == self.kind.words

    @property
    def is_refused(self) -> bool:
        """Whether its caller was told, in our own form, that there is no answer."""
        return self.answer.status >= 400 and self.answer.tail is Tail.REFUSAL

    @property
    def is_cut(self) -> bool:
        """Whether it ended in any other way: not connected, broken off, ended with an error, or never."""
        return not (self.is_served or self.is_refused)

    def __str__(self) -> str:
        said = f"{self.answer.status} {self.answer.code or self.answer.tail}"
        return f"[[{self.kind.directions}]]: {said} after {self.heard.seconds:.1f} s{', hung' * self.heard.hung}"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    per_second: float
    kinds: Sequence[Kind] = MIXED
    # Calls beside those, begun at once before them.
    first: Sequence[Kind] = ()

    def __str__(self) -> str:
        return f"{self.per_second:g}/s"


class Callers:
    """Calls under way; `placed` are those that are over."""

    def __init__(self, ports: Sequence[int], customers: Iterator[Customer], load: Load, chance: random.Random) -> None:
        """`ports`: those of the balancer or of nodes, called in turn."""
        self.placed: list[Placed] = []
        self.begun = 0
        self._not_served = 0
        self._ports = itertools.cycle(ports)
        self._customers = customers
        self._load = load
        self._chance = chance
        self._is_over = threading.Event()

    def stop(self) -> None:
        """No new calls; those under way come to their end."""
        self._is_over.set()

    def wait_for_calls(self, count: int) -> None:
        """Until so many more are begun."""
        enough = self.begun + count
        at_most = READY_WITHIN_SECONDS + TIMES_AS_LONG * count / self._load.per_second
        wait_until(lambda: self.begun >= enough, within_seconds=at_most)

    def run(self) -> None:
        uvloop.run(self._run())

    async def _run(self) -> None:
        free = asyncio.Semaphore(AT_ONCE + len(self._load.first))
        telling = asyncio.create_task(self._tell())
        async with asyncio.TaskGroup() as calls:
            for kind in self._load.first:
                await free.acquire()
                calls.create_task(self._call(next(self._ports), next(self._customers), kind, free))
            begun = time.monotonic()
            while not self._is_over.is_set():
                await asyncio.sleep(max(0.0, begun + self.begun / self._load.per_second - time.monotonic()))
                await free.acquire()
                kind = self._chance.choice(self._load.kinds)
                calls.create_task(self._call(next(self._ports), next(self._customers), kind, free))
                self.begun += 1
        telling.cancel()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TELL_SECONDS)
            say(f"{self.begun:,} calls begun, {len(self.placed):,} over, {self._not_served:,} of them not served")

    async def _call(self, port: int, customer: Customer, kind: Kind, free: asyncio.Semaphore) -> None:
        try:
            one = await place_one(port, customer, kind)
            self.placed.append(one)
            self._not_served += not one.is_served
        finally:
            free.release()


def order_of(customer: Customer, kind: Kind) -> Order:
    text = f"Say something. [[{kind.directions}]]"
    return Order(customer=customer, text=text, stream=kind.stream, host=HOST, max_tokens=kind.max_tokens)


async def place_one(port: int, customer: Customer, kind: Kind) -> Placed:
    order, begun = order_of(customer, kind), time.monotonic()
    try:
        # A connection that is refused is what some faults are about.
        heard = await call(port, order, connects=1, longest_seconds=kind.longest_seconds)
    except ConnectionError:
        heard = Heard(answer=Answer(), seconds=time.monotonic() - begun)
    return Placed(order=order, kind=kind, begun=begun, heard=heard)


@contextmanager
def calling(callers: Callers) -> Iterator[None]:
    """Calls go on within; all of them are over afterwards."""
    with ThreadPoolExecutor(1) as hands:
        running = hands.submit(callers.run)
        try:
            yield
        finally:
            callers.stop()
            running.result()
