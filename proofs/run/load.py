"""Load through the balancer, by TLS: callers at once, whole answers and streams, until they are told to stop."""

import asyncio
import ssl
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import msgspec
import uvloop

from proofs.rig.answer import Tail
from proofs.rig.chat import Heard, Order, call
from proofs.rig.customers import Customer
from proofs.run.house import BACKUP, MAIN, House

CALLERS = 12
# Between two calls of one caller, so that the machine is not what is measured.
PAUSE_SECONDS = 0.25
WORDS = 20
LONG_WORDS = 40
# By turns: a whole answer, one that takes a second, a stream, and a stream that outlives the lame-duck time.
TEXTS = (
    (f"[[tokens={WORDS}]]", False, WORDS),
    (f"[[tokens={WORDS} delay_ms=1000]]", False, WORDS),
    (f"[[tokens={WORDS} chunk_ms=20]]", True, WORDS),
    (f"[[tokens={LONG_WORDS} chunk_ms=200]]", True, LONG_WORDS),
)


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """One call, and what came of it."""

    order: Order
    words: int
    heard: Heard

    @property
    def is_failed(self) -> bool:
        answer = self.heard.answer
        ends_well = answer.tail is (Tail.DONE if self.order.stream else Tail.ANSWER)
        return self.heard.hung or answer.status != 200 or not ends_well or answer.words != self.words


class Load:
    """Calls under way; `placed` are those that are over."""

    def __init__(self, port: int, tls: ssl.SSLContext, customers: Sequence[Customer]) -> None:
        self.placed: list[Placed] = []
        self._port = port
        self._tls = tls
        self._customers = customers
        self._numbers = count()
        self._over = threading.Event()

    @property
    def failed(self) -> list[Placed]:
        return [each for each in self.placed if each.is_failed]

    def stop(self) -> None:
        """No new calls; those under way come to their end."""
        self._over.set()

    def run(self) -> None:
        uvloop.run(self._run())

    async def _run(self) -> None:
        await asyncio.gather(*(self._call_again_and_again() for _ in range(CALLERS)))

    async def _call_again_and_again(self) -> None:
        while not self._over.is_set():
            number = next(self._numbers)
            text, stream, words = TEXTS[number % len(TEXTS)]
            customer = self._customers[number % len(self._customers)]
            host = BACKUP if number % 7 == 0 else MAIN
            order = Order(customer=customer, text=text, stream=stream, host=host)
            self.placed.append(Placed(order=order, words=words, heard=await call(self._port, order, self._tls)))
            await asyncio.sleep(PAUSE_SECONDS)


@contextmanager
def under_load(house: House) -> Iterator[Load]:
    """Calls go on within; all of them are over afterwards."""
    tls = ssl.create_default_context(cafile=str(house.balancer.certificate))
    load = Load(house.balancer.tls_port, tls, house.customers)
    with ThreadPoolExecutor(1) as hands:
        running = hands.submit(load.run)
        try:
            yield load
        finally:
            load.stop()
            running.result()
