"""The house: two nodes behind HAProxy with the shipped configuration, their stores, a provider, and a worker and a
console beside them, all watched by Prometheus."""

import asyncio
import random
import signal
from collections.abc import Mapping
from contextlib import ExitStack

from proofs.rig.customers import PROVIDER_KEY, Customer, fill_customers
from proofs.rig.deployment import deployment, journal_folder, start_together, started
from proofs.rig.patience import patience, wait_until
from proofs.rig.proof import say, seed
from proofs.run.watching import Watched, prometheus_for
from tools.accounts import add_accounts, without_limits
from tools.console import Console
from tools.node import Node, command, jobs
from tools.services import Postgres
from tools.services.haproxy import HOSTS, HaProxy
from tools.services.process import free_port
from tools.simulator import Simulator

MODEL = "gpt-4o"
NODES = ("one", "two")
CUSTOMERS = 40
PROVIDER_ACCOUNTS = 3
# Longer than the balancer needs to notice, as shipped.
LAME_DUCK_SECONDS = 5
MAIN, BACKUP, BILLING, AGENTS = HOSTS
NODE_METRICS = "TOLLKEEPER_METRICS_PORT"
WORKER_METRICS = "TOLLKEEPER_WORK_METRICS_PORT"
CONSOLE_METRICS = "TOLLKEEPER_CONSOLE_METRICS_PORT"
ADDRESSES = {
    "TOLLKEEPER_MAIN_HOSTS": MAIN,
    "TOLLKEEPER_BACKUP_HOSTS": BACKUP,
    "TOLLKEEPER_BILLING_HOSTS": BILLING,
    "TOLLKEEPER_AGENT_HOSTS": AGENTS,
    "TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1",
}


class House:
    """Everything that it starts is stopped with `stack`."""

    def __init__(self, stack: ExitStack) -> None:
        self.postgres = Postgres(durable=True)
        self.settings: Mapping[str, str] = deployment(stack, postgres=self.postgres) | ADDRESSES
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        self.customers = self._furnish()
        self.nodes = dict(zip(NODES, (self._node(stack, name) for name in NODES), strict=True))
        console = Console(dict(self.settings) | {CONSOLE_METRICS: str(free_port())})
        start_together(stack, [*self.nodes.values(), console])
        stack.callback(self._tell_nodes_to_leave)
        worker = dict(self.settings) | {WORKER_METRICS: str(free_port())}
        stack.enter_context(jobs(worker, self.nodes[NODES[0]]))
        self.watched = Watched(
            nodes=[_told_at(node.settings[NODE_METRICS]) for node in self.nodes.values()],
            worker=_told_at(worker[WORKER_METRICS]),
            console=_told_at(console.settings[CONSOLE_METRICS]),
        )
        self.prometheus = started(stack, prometheus_for(self.watched))
        self.balancer = started(stack, HaProxy([node.port for node in self.nodes.values()]))
        for name in self.nodes:
            self.wait_until_used(name)

    def stop(self, name: str) -> int:
        """Stop a node as its service manager would, and wait for its end; what it exits with."""
        process = self.nodes[name].process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        return process.wait(patience(120))

    def start(self, name: str) -> None:
        """Start a node again, until the balancer sends it calls."""
        self.nodes[name].start()
        self.wait_until_used(name)

    def wait_until_used(self, name: str) -> None:
        wait_until(lambda: self.balancer.states().get(name) == "UP")

    def _tell_nodes_to_leave(self) -> None:
        """Together: each takes its lame-duck time."""
        for node in self.nodes.values():
            if node.process is not None and node.process.poll() is None:
                node.process.send_signal(signal.SIGTERM)

    def _furnish(self) -> list[Customer]:
        url = self.settings["TOLLKEEPER_DATABASE_URL"]
        command(self.settings, "migrate")
        asyncio.run(without_limits(url))
        command(self.settings, "model", "add", MODEL, "--multiplier", "1.25", "--completion", "4")
        asyncio.run(add_accounts(dict(self.settings), self.simulator.base, PROVIDER_KEY, PROVIDER_ACCOUNTS))
        chance = random.Random(seed())
        say(f"{CUSTOMERS} customers, nodes {', '.join(NODES)} behind HAProxy")
        return asyncio.run(fill_customers(self.settings, CUSTOMERS, chance))

    def _node(self, stack: ExitStack, name: str) -> Node:
        own = {
            "TOLLKEEPER_NODE_NAME": name,
            "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack),
            "TOLLKEEPER_LAME_DUCK_SECONDS": str(LAME_DUCK_SECONDS),
            NODE_METRICS: str(free_port()),
        }
        return Node(dict(self.settings) | own)


def _told_at(port: str) -> str:
    return f"127.0.0.1:{port}"
