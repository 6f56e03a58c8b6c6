"""The bench: one node with two workers at a time, its stores, the simulator behind it, and load on it."""

import asyncio
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import uvloop

from proofs.faults.evidence import Evidence, gather
from proofs.rig.chat import Heard, Order, place
from proofs.rig.customers import PROVIDER_KEY, Customer, fill_customers
from proofs.rig.deployment import deployment
from proofs.rig.proof import say
from tools.accounts import add_accounts, without_limits
from tools.node import Node, command
from tools.simulator import Simulator

MODEL = "gpt-4o"
# Its thoughts are charged, and known only from the report at the end.
THINKER = "o-thinker"
# So many that faults, which are most calls here, do not take them all out.
ACCOUNTS = 1_000
ADDRESSES = {"TOLLKEEPER_MAIN_HOSTS": "main.test", "TOLLKEEPER_BACKUP_HOSTS": "backup.test"}


class Bench:
    def __init__(self, stack: ExitStack) -> None:
        """Everything it starts is stopped with `stack`."""
        self.settings = deployment(stack) | {"TOLLKEEPER_WORKERS": "2"}
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        # Of nodes that did not stop by themselves: one waits for as long as any call is under way.
        self.stuck_nodes = 0

    def furnish(self, customers: int, chance: random.Random) -> list[Customer]:
        """Everything a node needs before it starts."""
        command(self.settings, "migrate")
        asyncio.run(without_limits(self.settings["TOLLKEEPER_DATABASE_URL"]))
        priced = ("--multiplier", "1.25", "--completion", "4")
        command(self.settings, "model", "add", MODEL, *priced)
        command(self.settings, "model", "add", THINKER, *priced, "--hidden-reasoning")
        asyncio.run(add_accounts(self.settings, self.simulator.base, PROVIDER_KEY, ACCOUNTS))
        return asyncio.run(fill_customers(self.settings, customers, chance))

    @contextmanager
    def node(self, time_limits: Mapping[str, str]) -> Iterator[Node]:
        with Node(self.settings | ADDRESSES | dict(time_limits)) as node:
            yield node
            begun = time.monotonic()
            node.stop()
            assert node.process is not None
            say(f"the node stopped after {time.monotonic() - begun:.1f} s, with {node.process.returncode}")
            self.stuck_nodes += node.process.returncode != 0

    def load(self, node: Node, orders: Sequence[Order], *, per_second: float, at_once: int) -> list[Heard]:
        say(f"{len(orders):,} calls, {per_second:g} a second, at most {at_once:,} at once")
        return uvloop.run(place(node.port, orders, at_once=at_once, per_second=per_second))

    def evidence(self, orders: Sequence[Order], heard: Sequence[Heard]) -> list[Evidence]:
        return gather(self.settings, self.simulator, orders, heard)
