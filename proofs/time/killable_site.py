"""Two nodes, two workers for the jobs, a provider, customers, and hands that kill."""

import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack

from proofs.rig.customers import ACTOR, PROVIDER_KEY, Customer, a_key
from proofs.rig.deployment import deployment
from tollkeeper.office.desks import Office
from tools.accounts import add_accounts, without_limits
from tools.node import Node, clean_environment, command
from tools.services import Redis
from tools.simulator import Simulator

MODELS = ("alpha", "beta", "gamma")
CUSTOMERS = 20
PROVIDER_ACCOUNTS = 5
NODES = ("north", "south")
WORKERS = 2


class KillableSite:
    def __init__(self, stack: ExitStack) -> None:
        """Everything it starts is stopped with `stack`."""
        self._stack = stack
        self.redis = Redis()
        own = {"TOLLKEEPER_LOG_SITE": f"file://{self._folder()}", "TOLLKEEPER_WORKERS": "1"}
        self.settings = deployment(stack, redis=self.redis) | own
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        self.customers: dict[int, Customer] = {}
        self.nodes: list[Node] = []
        self._workers: list[subprocess.Popen[bytes]] = []
        stack.callback(self._stop_workers)

    def build(self) -> None:
        command(self.settings, "migrate")
        for model in MODELS:
            command(self.settings, "model", "add", model, "--multiplier", "1.25", "--completion", "4")

    async def furnish(self, desk: Office) -> None:
        """Customers, by account, and the provider's accounts."""
        await without_limits(self.settings["TOLLKEEPER_DATABASE_URL"])
        await add_accounts(self.settings, self.simulator.base, PROVIDER_KEY, PROVIDER_ACCOUNTS)
        for number in range(CUSTOMERS):
            account_id = await desk.accounts.create(f"customer {number}", "standard", actor=ACTOR)
            self.customers[account_id] = await a_key(desk, account_id)

    def open(self) -> None:
        for name in NODES:
            own = {"TOLLKEEPER_NODE_NAME": name, "TOLLKEEPER_JOURNAL_FOLDER": self._folder()}
            self.nodes.append(self._stack.enter_context(Node(self.settings | own)))
        self._workers = [self._worker(number) for number in range(WORKERS)]

    def kill_a_worker(self, chance: random.Random) -> None:
        number = chance.randrange(WORKERS)
        self._workers[number].kill()
        self._workers[number].wait()
        self._workers[number] = self._worker(number)

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        own = {"TOLLKEEPER_NODE_NAME": f"jobs-{number}", "TOLLKEEPER_JOURNAL_FOLDER": self._folder()}
        return subprocess.Popen(
            [sys.executable, "-m", "tollkeeper", "work"],
            env=clean_environment() | self.settings | own,
            stderr=subprocess.DEVNULL,
        )

    def _stop_workers(self) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.wait()

    def _folder(self) -> str:
        return self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-year-"))
