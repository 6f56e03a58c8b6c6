"""The rig: one node with two workers at a time, its stores, the simulator behind it, and load on it."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import uvloop

from tools.node import Node, own_deployment
from tools.proofs import say
from tools.proofs.fault_rig.caller import Heard, Order, place
from tools.proofs.fault_rig.evidence import Evidence, gather
from tools.proofs.fault_rig.ground import PROVIDER_KEY
from tools.services import Postgres, Redis
from tools.simulator import Simulator

ADDRESSES = {"TOLLKEEPER_MAIN_HOSTS": "main.test", "TOLLKEEPER_BACKUP_HOSTS": "backup.test"}


class Rig:
    def __init__(self, stack: ExitStack) -> None:
        """Everything it starts is stopped with `stack`."""
        self.settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": stack.enter_context(Postgres()).url,
            "TOLLKEEPER_REDIS_URL": stack.enter_context(Redis()).url,
            "TOLLKEEPER_JOURNAL_FOLDER": stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-")),
            "TOLLKEEPER_WORKERS": "2",
        }
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        # Of nodes that did not stop by themselves: one waits for as long as any call is under way.
        self.stuck_nodes = 0

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
