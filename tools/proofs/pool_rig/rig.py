"""The rig: two nodes that share their stores, ten provider accounts, and one more for incidents of its own."""

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tools.node import Node, own_deployment
from tools.proofs.fault_rig.ground import Customer
from tools.proofs.pool_rig.ground import Account, furnish
from tools.proofs.sdks.casting import PROVIDER_KEY
from tools.services import Postgres, Redis
from tools.simulator import Simulator

ACCOUNTS = 10
# The simulator behind the accounts that the incidents are about; directions speak to it by this name.
ODD = "odd"
TIME_LIMITS = {
    # A stall is noticed after two seconds, long before a comment would be sent to the caller.
    "TOLLKEEPER_FIRST_BYTE_SECONDS": "2",
    "TOLLKEEPER_KEEP_ALIVE_SECONDS": "8",
}
ADDRESSES = {"TOLLKEEPER_MAIN_HOSTS": "main.test", "TOLLKEEPER_BACKUP_HOSTS": "backup.test"}


class Rig:
    def __init__(self, stack: ExitStack, *, customers: int, own_models: Sequence[str]) -> None:
        """Everything it starts is stopped with `stack`. Each of `own_models` has an account of that name."""
        self.redis = stack.enter_context(Redis())
        self.settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": stack.enter_context(Postgres()).url,
            "TOLLKEEPER_REDIS_URL": self.redis.url,
            "TOLLKEEPER_JOURNAL_FOLDER": _folder(stack),
        }
        *usual, self.odd = _started(stack, [*(f"p{number}" for number in range(ACCOUNTS)), ODD])
        self.simulators = {str(simulator.options["name"]): simulator for simulator in usual}
        accounts = [Account(name=name, base_url=simulator.base) for name, simulator in self.simulators.items()]
        accounts += [Account(name=model, base_url=self.odd.base, own_model=model) for model in own_models]
        self.customers: list[Customer] = furnish(self.settings, accounts, customers)
        self.nodes = [stack.enter_context(Node(self._node_settings(stack, name))) for name in ("north", "south")]

    def _node_settings(self, stack: ExitStack, name: str) -> Mapping[str, str]:
        own = {"TOLLKEEPER_NODE_NAME": name, "TOLLKEEPER_JOURNAL_FOLDER": _folder(stack), "TOLLKEEPER_WORKERS": "1"}
        return self.settings | ADDRESSES | TIME_LIMITS | own


def _started(stack: ExitStack, names: Sequence[str]) -> list[Simulator]:
    simulators = [Simulator(name=name, key=PROVIDER_KEY) for name in names]
    for simulator in simulators:
        stack.push(simulator)
    with ThreadPoolExecutor(len(simulators)) as hands:
        list(hands.map(Simulator.start, simulators))
    return simulators


def _folder(stack: ExitStack) -> str:
    return stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-"))
