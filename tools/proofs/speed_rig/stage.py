"""The stage: stores, simulator, gateway and bare proxy, each on a port that is its own."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal

import msgspec

from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app import office
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node, own_deployment, tollkeeper
from tools.proofs.ledger_rig.ground import connect
from tools.proofs.sdks.casting import ACTOR, PROVIDER_KEY, an_account
from tools.proofs.speed_rig.bare import BareProxy
from tools.proofs.speed_rig.orders import MODEL
from tools.proofs.speed_rig.processes import listeners, require_alone
from tools.run import command
from tools.services import Postgres, Redis
from tools.simulator import Simulator

CONNECTIONS = 64
USD_EACH = Decimal(10_000)


class Subject(msgspec.Struct, frozen=True):
    """What is measured: where it listens, and its first process."""

    name: str
    port: int
    pid: int


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    bare: Subject
    full: Subject
    # One for each connection, each of an account of its own.
    keys: list[str]
    # The process ids of what works beside them, by name.
    beside: dict[str, int]
    settings: Mapping[str, str]
    node: Node


@contextmanager
def built() -> Iterator[Stage]:
    with ExitStack() as stack:
        postgres, redis = stack.enter_context(Postgres(durable=True)), stack.enter_context(Redis())
        settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": postgres.url,
            "TOLLKEEPER_REDIS_URL": redis.url,
            "TOLLKEEPER_JOURNAL_FOLDER": stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-")),
            "TOLLKEEPER_WORKERS": "1",
        }
        simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        keys = furnish(settings, simulator.base)
        bare = stack.enter_context(BareProxy(simulator.base, PROVIDER_KEY))
        node = stack.enter_context(Node(settings))
        assert node.process is not None
        subjects = [Subject("bare", bare.port, bare.process.pid), Subject("full", node.port, node.process.pid)]
        for subject in subjects:
            require_alone(subject.port, subject.pid)
        ports = {"postgres": postgres.port, "redis": redis.port, "simulator": simulator.port}
        yield Stage(
            bare=subjects[0],
            full=subjects[1],
            keys=keys,
            beside={name: only_listener(port) for name, port in ports.items()},
            settings=settings,
            node=node,
        )


def only_listener(port: int) -> int:
    [pid] = listeners(port)
    return pid


def furnish(settings: Mapping[str, str], upstream: str) -> list[str]:
    """A schema, a model, a provider account, and a customer with a key for each connection."""
    command(dict(settings), "migrate")
    asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
    command(dict(settings), "model", "add", MODEL, "--multiplier", "1.25", "--completion", "4")
    added = tollkeeper(settings, "provider", "add", "simulator", upstream, stdin=PROVIDER_KEY)
    assert added.returncode == 0, added.stderr
    return asyncio.run(customers(settings))


async def customers(settings: Mapping[str, str]) -> list[str]:
    keys = []
    async with office(load(settings)) as desk:
        for number in range(CONNECTIONS):
            account_id = await an_account(desk, f"customer {number}", USD_EACH)
            wish = KeyWish(account_id=account_id, name="key")
            keys.append((await create_key(wish, desk.key_maker, desk.keys, actor=ACTOR)).key)
    return keys


def receipts(stage: Stage) -> int:
    """How many calls have a receipt."""

    async def read() -> int:
        connection = await connect(stage.settings["TOLLKEEPER_DATABASE_URL"])
        try:
            found: int = await connection.fetchval("select count(*) from usage")
            return found
        finally:
            await connection.close()

    return asyncio.run(read())
