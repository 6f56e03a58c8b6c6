"""Two nodes that share their stores, ten provider accounts, and one more for incidents of its own."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from proofs.pool.provider_accounts import Account, furnish
from proofs.rig.customers import PROVIDER_KEY, Customer
from proofs.rig.deployment import deployment, journal_folder, start_together
from tools.node import Node
from tools.services import Redis
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


class TwoNodes:
    def __init__(self, stack: ExitStack, *, customers: int, own_models: Sequence[str] = (), workers: int = 1) -> None:
        """Everything it starts is stopped with `stack`. Each of `own_models` has an account of that name. `workers`: of
        each node."""
        self._workers = workers
        self.redis = Redis()
        self.settings = deployment(stack, redis=self.redis)
        names = [*(f"p{number}" for number in range(ACCOUNTS)), ODD]
        *usual, self.odd = simulators = [Simulator(name=name, key=PROVIDER_KEY) for name in names]
        start_together(stack, simulators)
        self.simulators = {str(simulator.options["name"]): simulator for simulator in usual}
        accounts = [Account(name=name, base_url=simulator.base) for name, simulator in self.simulators.items()]
        accounts += [Account(name=model, base_url=self.odd.base, own_model=model) for model in own_models]
        self.customers: list[Customer] = furnish(self.settings, accounts, customers)
        self.nodes = [stack.enter_context(Node(self._node_settings(stack, name))) for name in ("north", "south")]

    def _node_settings(self, stack: ExitStack, name: str) -> Mapping[str, str]:
        own = {"TOLLKEEPER_NODE_NAME": name, "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack)}
        return self.settings | ADDRESSES | TIME_LIMITS | own | {"TOLLKEEPER_WORKERS": str(self._workers)}
