"""Steady callers: so many calls a second, over all nodes in turn, half of them streamed, until told to stop."""

import asyncio
import itertools
import time
from collections.abc import Sequence

import msgspec

from proofs.pool.provider_accounts import MODEL
from proofs.rig.answer import Tail
from proofs.rig.chat import Heard, Order, call
from proofs.rig.customers import Customer
from tools.node import Node

TEXT = "Say something. [[tokens=8]]"


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """One call: when and where it was placed, and what its caller heard."""

    begun_at: float
    node: int
    stream: bool
    heard: Heard

    @property
    def request_id(self) -> str:
        return self.heard.answer.request_id

    @property
    def ended_at(self) -> float:
        return self.begun_at + self.heard.seconds

    @property
    def went_well(self) -> bool:
        answer = self.heard.answer
        return answer.status == 200 and answer.tail is (Tail.DONE if self.stream else Tail.ANSWER)


class Callers:
    def __init__(self, nodes: Sequence[Node], customers: Sequence[Customer], per_second: float) -> None:
        self.placed: list[Placed] = []
        self._nodes = nodes
        self._customers = itertools.cycle(customers)
        self._per_second = per_second
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True

    async def run(self) -> None:
        """Whoever falls behind catches up: the pace does not depend on how soon answers come."""
        begun = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in itertools.count():
                await asyncio.sleep(max(0.0, begun + number / self._per_second - time.monotonic()))
                if self._stopping:
                    return
                tasks.create_task(self._one(number))

    async def _one(self, number: int) -> None:
        # Every node gets both forms.
        node, stream = number % len(self._nodes), number // len(self._nodes) % 2 == 0
        self.placed.append(await place(self._nodes, node, next(self._customers), TEXT, stream=stream))


async def place(
    nodes: Sequence[Node], node: int, customer: Customer, text: str, *, stream: bool, model: str = MODEL
) -> Placed:
    begun_at = time.time()
    heard = await call(nodes[node].port, Order(customer=customer, text=text, stream=stream, model=model))
    return Placed(begun_at=begun_at, node=node, stream=stream, heard=heard)
