"""The town: two nodes, two workers for the jobs, a provider, customers, and hands that kill."""

import os
import random
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack

from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app import Office
from tools.accounts import add_accounts, without_limits
from tools.node import Node, children, clean_environment, own_deployment
from tools.proofs.fault_rig.ground import PROVIDER_KEY, Customer
from tools.run import command
from tools.services import Postgres, Redis
from tools.simulator import Simulator

ACTOR = "proof"
MODELS = ("alpha", "beta", "gamma")
CUSTOMERS = 20
PROVIDER_ACCOUNTS = 5
NODES = ("north", "south")
WORKERS = 2


class Town:
    def __init__(self, stack: ExitStack) -> None:
        """Everything it starts is stopped with `stack`."""
        self._stack = stack
        self.redis = stack.enter_context(Redis())
        self.settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": stack.enter_context(Postgres()).url,
            "TOLLKEEPER_REDIS_URL": self.redis.url,
            "TOLLKEEPER_LOG_SITE": f"file://{self._folder()}",
            "TOLLKEEPER_WORKERS": "1",
        }
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
            wish = KeyWish(account_id=account_id, name="key")
            issued = await create_key(wish, desk.key_maker, desk.keys, actor=ACTOR)
            self.customers[account_id] = Customer(issued.key_id, issued.key)

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

    def kill(self, node: Node) -> None:
        """Without a word, and everything it began."""
        assert node.process is not None
        os.kill(node.process.pid, signal.SIGSTOP)
        for child in children(node.process.pid):
            os.kill(child, signal.SIGKILL)
        node.process.kill()
        node.process.wait()

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
