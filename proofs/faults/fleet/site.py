"""The fleet itself: everything that serves, what can be done to it, and the customers who call it."""

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from proofs.faults.fleet.pair import DatabasePair, Pair
from proofs.rig.customers import ACTOR, PROVIDER_KEY, Customer, fill_customers
from proofs.rig.deployment import journal_folder, start_together, started
from proofs.rig.measuring.processes import is_listened_on
from proofs.rig.patience import patience, wait_until
from proofs.rig.proof import say
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node, command, jobs, own_deployment
from tools.services import Redis, RedisSentinel
from tools.services.far_host import FarHost, why_no_far_host
from tools.services.haproxy import MAIN_HOST, HaProxy
from tools.simulator import Simulator

MODEL = "gpt-4o"
NODES = ("one", "two")
WORKERS = 2
# Half of the provider accounts each.
PROVIDERS = ("calm", "stormy")
ACCOUNTS_EACH = 5
# So few that a ban comes soon; nobody of the load makes an invalid call.
INVALID_CALLS = 30
# What a node's log says when another worker is in the place of one.
RENEWED = b" is renewed"
# As long as a node waits for its calls, and a little more.
LEAVES_WITHIN_SECONDS = 660.0
SETTINGS = {
    "TOLLKEEPER_MAIN_HOSTS": MAIN_HOST,
    "TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1",
    "TOLLKEEPER_WORKERS": str(WORKERS),
    "TOLLKEEPER_INVALID_CALLS": str(INVALID_CALLS),
    # As shipped: a store that is away for longer is answered with 503.
    "TOLLKEEPER_STORE_PATIENCE_SECONDS": "4",
    # Longer than the balancer needs to notice.
    "TOLLKEEPER_LAME_DUCK_SECONDS": "3",
}


class Fleet:
    """Everything that it starts is stopped with `stack`."""

    def __init__(self, stack: ExitStack, *, keys: int, chance: random.Random, pair: DatabasePair | None = None) -> None:
        self.chance = chance
        self.pair: DatabasePair = stack.enter_context(pair or Pair())
        self.redis = stack.enter_context(RedisSentinel(far_host()))
        self.simulators = {name: Simulator(name=name, key=PROVIDER_KEY) for name in PROVIDERS}
        start_together(stack, list(self.simulators.values()))
        self.settings: dict[str, str] = own_deployment() | SETTINGS | {"TOLLKEEPER_REDIS_URL": self.redis.url}
        self.settings |= {"TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack)}
        self.customers: Iterator[Customer] = iter(self._furnish(keys))
        self.pair.follow()
        self.settings["TOLLKEEPER_DATABASE_URL"] = self.pair.both
        self.nodes = [self.node(stack, name) for name in NODES]
        # Nodes that were told to leave and have a successor, while their calls end.
        self._leaving: list[subprocess.Popen[bytes]] = []
        stack.callback(self._end_leaving)
        start_together(stack, self.nodes)
        stack.callback(self._tell_nodes_to_leave)
        stack.enter_context(jobs(self.settings, self.nodes[0]))
        self.balancer = started(stack, HaProxy([node.port for node in self.nodes]))
        self.wait_until_used()

    @property
    def books(self) -> Mapping[str, str]:
        """Settings for whoever reads the books, where they are now."""
        return self.settings | {"TOLLKEEPER_DATABASE_URL": self.pair.url}

    @property
    def master(self) -> Redis:
        """The Redis that Sentinel calls the master."""
        port = self.redis.sentinels[0].master_port()
        return next(server for server in (self.redis.master, self.redis.replica) if server.port == port)

    def kill_worker(self) -> None:
        """Kill -9 of any worker of any node; another one follows it."""
        node = self.chance.choice(self.nodes)
        victim = self.chance.choice(node.workers())
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in node.workers() and len(node.workers()) == WORKERS)

    def kill_node(self) -> None:
        """Kill -9 of a node and all its workers, as when a host is reset, and a new start."""
        node = self.chance.choice(self.nodes)
        node.kill()
        node.start()
        self.wait_until_used()

    def restart(self, place: int) -> None:
        """Stop a node by SIGTERM; its successor begins when its port is closed, beside what calls it still has."""
        node = self.nodes[place]
        assert node.process is not None
        node.process.send_signal(signal.SIGTERM)
        self._leaving.append(node.process)
        wait_until(lambda: not is_listened_on(node.port))
        node.start()
        self.wait_until_used()

    def wait_for_leaving(self) -> str:
        """Until nodes that were restarted have ended; what they exited with, where that is not 0."""
        left, self._leaving = self._leaving, []
        statuses = [one.wait(patience(LEAVES_WITHIN_SECONDS)) for one in left]
        return f"nodes that left exited with {statuses}" if any(statuses) else ""

    def renew(self, place: int) -> None:
        """Renew the workers of a node, each beside the old one, by SIGHUP. Old ones end when their calls do."""
        node = self.nodes[place]
        assert node.process is not None
        enough = node.log.read_bytes().count(RENEWED) + WORKERS
        node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: node.log.read_bytes().count(RENEWED) >= enough)

    def wait_until_used(self) -> None:
        """Until the balancer sends calls to both nodes."""
        wait_until(lambda: [self.balancer.states().get(name) for name in NODES] == ["UP"] * len(NODES))

    def memory_bytes(self) -> int:
        """What both nodes occupy."""
        return sum(node.memory_bytes() for node in self.nodes)

    def own_memory_bytes(self) -> int:
        """Of that what is in no file, and does not depend on who else runs the same programs."""
        return sum(node.own_memory_bytes() for node in self.nodes)

    def fail_redis_over(self) -> None:
        """The master is killed, the other one takes its place; the dead one comes back as its replica."""
        dead = self.master
        other = next(one for one in (self.redis.master, self.redis.replica) if one is not dead)
        dead.kill()
        wait_until(lambda: {one.master_port() for one in self.redis.sentinels} == {other.port})
        dead.start()

    def freeze_redis(self, seconds: float) -> None:
        """The port accepts, nothing answers, for so long."""
        redis = self.master
        redis.freeze()
        try:
            time.sleep(seconds)
        finally:
            redis.thaw()

    def cut_redis_off(self, seconds: float) -> None:
        """The host of one Redis, the master at first, is cut off for so long; it is a replica again afterwards."""
        far = self.redis.far
        if far is None:
            say(f"Redis is not cut off: {why_no_far_host()}")
            return
        far.cut()
        try:
            time.sleep(seconds)
        finally:
            far.mend()
        wait_until(lambda: _in_step(self.redis))

    def _tell_nodes_to_leave(self) -> None:
        """Together: each takes its lame-duck time, and the second word ends that."""
        for _ in range(2):
            for node in self.nodes:
                if node.process is not None and node.process.poll() is None:
                    node.process.send_signal(signal.SIGTERM)

    def _end_leaving(self) -> None:
        """Those that nobody waited for, because the run was ended."""
        for one in self._leaving:
            one.kill()

    def _furnish(self, keys: int) -> list[Customer]:
        books = self.books
        command(books, "migrate")
        asyncio.run(without_limits(self.pair.url))
        command(books, "model", "add", MODEL, "--multiplier", "1.25", "--completion", "4")
        asyncio.run(self._add_accounts())
        say(f"{keys:,} keys; nodes {', '.join(NODES)} of {WORKERS} workers behind HAProxy, a pair of PostgreSQL, Redis")
        return asyncio.run(fill_customers(books, keys, self.chance))

    async def _add_accounts(self) -> None:
        async with office(load(self.books)) as desk:
            for name, simulator in self.simulators.items():
                for number in range(ACCOUNTS_EACH):
                    account = NewProviderAccount(
                        name=f"{name}-{number}", vendor="openai", base_url=simulator.base, secret=PROVIDER_KEY
                    )
                    await desk.providers.add(account, actor=ACTOR)

    def node(self, stack: ExitStack, name: str) -> Node:
        """One more that shares the stores, not started yet; its journal goes with `stack`."""
        own = {"TOLLKEEPER_NODE_NAME": name, "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack)}
        return Node(self.settings | own)


def far_host() -> FarHost | None:
    """A host for a server that is to be cut off, where this machine can have one; otherwise say why not."""
    why_not = why_no_far_host()
    if why_not:
        say(f"no server has a host of its own, and none is cut off: {why_not}")
    return None if why_not else FarHost()


def _in_step(redis: RedisSentinel) -> bool:
    """Whether one of both is a master for all sentinels, and the other one its replica."""
    named = {sentinel.master_port() for sentinel in redis.sentinels}
    others = [one for one in (redis.master, redis.replica) if one.port not in named]
    if len(named) != 1 or not all(one.is_ready() for one in others):
        return False
    try:
        return all(one.ask("ROLE")[2:4] == [str(*named), "connected"] for one in others)
    except subprocess.CalledProcessError:
        # Who becomes a replica ends the connections that it has.
        return False
