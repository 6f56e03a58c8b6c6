"""Contestants: gateway, bare proxy and nginx, each on a port and a core of its own, with stores and a simulator."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal

import msgspec

from proofs.rig.customers import PROVIDER_KEY, a_key, an_account
from proofs.rig.database import connect
from proofs.rig.deployment import deployment
from proofs.rig.measuring.cores import Cores, split
from proofs.rig.measuring.measured_orders import MODEL
from proofs.rig.measuring.processes import largest_child_bytes, listeners, require_alone
from proofs.rig.patience import came_true
from proofs.rig.proof import say
from proofs.speed.bare import BareProxy
from proofs.speed.nginx import Nginx
from tollkeeper.app.office import office
from tollkeeper.office.desks import Office
from tollkeeper.settings import load
from tools.accounts import with_limits
from tools.node import Node, command, tollkeeper
from tools.services import Postgres, Redis
from tools.simulator import Simulator

CONNECTIONS = 64
CUSTOMERS = 1_000
FURNISHED_AT_ONCE = 8
SETTLED_WITHIN_SECONDS = 120.0
# Limits are kept and never met.
CALLS_A_MINUTE = 1_000_000
USD_EACH = Decimal(10_000)


class Subject(msgspec.Struct, frozen=True):
    """What is measured: where it listens, its first process, and whether its calls have receipts."""

    name: str
    port: int
    pid: int
    keeps_books: bool = False
    # What every request to it has beside the usual headers.
    headers: Mapping[str, str] = {}


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    bare: Subject
    full: Subject
    nginx: Subject
    # Each of an account of its own.
    keys: list[str]
    # The process ids of what works beside them, by name.
    beside: dict[str, int]
    # Where the provider is.
    upstream: str
    settings: Mapping[str, str]
    node: Node
    cores: Cores
    # What the node took to be ready, and what its worker took before its first call.
    ready_seconds: float
    idle_bytes: int


@contextmanager
def built() -> Iterator[Stage]:
    with ExitStack() as stack:
        cores = stack.enter_context(split())
        postgres, redis = Postgres(durable=True), Redis()
        settings = deployment(stack, postgres=postgres, redis=redis) | {"TOLLKEEPER_WORKERS": "1"}
        simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        keys = furnish(settings, simulator.base)
        with cores.start_measured():
            bare = stack.enter_context(BareProxy(simulator.base, PROVIDER_KEY))
            nginx = stack.enter_context(Nginx(simulator.base, PROVIDER_KEY))
            begun = time.monotonic()
            node = stack.enter_context(Node(settings))
            ready_seconds = time.monotonic() - begun
        full = subject_of("full", node)
        stores = {"postgres": postgres.port, "redis": redis.port, "simulator": simulator.port}
        yield checked(
            Stage(
                bare=Subject("bare", bare.port, bare.process.pid),
                full=full,
                nginx=Subject("nginx", nginx.port, nginx.pid),
                keys=keys,
                beside={name: only_listener(port) for name, port in stores.items()},
                upstream=simulator.base,
                settings=settings,
                node=node,
                cores=cores,
                ready_seconds=ready_seconds,
                idle_bytes=largest_child_bytes(full.pid),
            )
        )


def checked(stage: Stage) -> Stage:
    """Make sure that each has its port to itself and is where it belongs."""
    for subject in (stage.bare, stage.full, stage.nginx):
        require_alone(subject.port, subject.pid)
        stage.cores.require_measured(subject.pid)
    for pid in stage.beside.values():
        stage.cores.require_other(pid)
    return stage


@contextmanager
def another_node(stage: Stage, name: str, *, workers: int) -> Iterator[Subject]:
    """One more gateway over the same stores, for a while."""
    with ExitStack() as stack:
        with stage.cores.start_measured():
            node = stack.enter_context(Node(dict(stage.settings) | {"TOLLKEEPER_WORKERS": str(workers)}))
        subject = subject_of(name, node)
        require_alone(subject.port, subject.pid)
        stage.cores.require_measured(subject.pid)
        yield subject


def subject_of(name: str, node: Node) -> Subject:
    assert node.process is not None
    return Subject(name, node.port, node.process.pid, keeps_books=True)


def only_listener(port: int) -> int:
    [pid] = listeners(port)
    return pid


def furnish(settings: Mapping[str, str], upstream: str) -> list[str]:
    """A schema, a model, a provider account, and customers with a key each."""
    command(dict(settings), "migrate")
    asyncio.run(with_limits(settings["TOLLKEEPER_DATABASE_URL"], CALLS_A_MINUTE))
    command(dict(settings), "model", "add", MODEL, "--multiplier", "1.25", "--completion", "4")
    added = tollkeeper(settings, "provider", "add", "simulator", upstream, "--all-models", stdin=PROVIDER_KEY)
    assert added.returncode == 0, added.stderr
    return asyncio.run(customers(settings))


async def customers(settings: Mapping[str, str]) -> list[str]:
    keys: list[str] = []
    async with office(load(settings)) as desk:
        while len(keys) < CUSTOMERS:
            some = range(len(keys), min(CUSTOMERS, len(keys) + FURNISHED_AT_ONCE))
            keys += await asyncio.gather(*(a_customer(desk, number) for number in some))
    return keys


async def a_customer(desk: Office, number: int) -> str:
    return (await a_key(desk, await an_account(desk, f"customer {number}", USD_EACH))).key


def receipts(settings: Mapping[str, str]) -> int:
    """How many calls have a receipt."""

    async def read() -> int:
        connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
        try:
            found: int = await connection.fetchval("select count(*) from usage")
            return found
        finally:
            await connection.close()

    return asyncio.run(read())


def wait_for_receipts(settings: Mapping[str, str], calls: int) -> None:
    """Until every call so far is settled."""
    if not came_true(lambda: receipts(settings) >= calls, within_seconds=SETTLED_WITHIN_SECONDS):
        say(f"{receipts(settings)} of {calls} calls have a receipt")
