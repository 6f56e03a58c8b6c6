"""Odd days: a process that starts first, an old or a newer schema, a wrong clock, a key that nobody can read.

Each is told on /readyz and in the log, in a sentence, and is over by itself.
"""

import asyncio
import base64
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.chat import chat
from tests.client import ask
from tests.conftest import PROVIDER_KEY, Stores, variables
from tests.customers import ACTOR, Customers
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.postgres.revision import newest_known
from tollkeeper.storage.postgres.schema import migrate
from tools.console import Console
from tools.node import Node, own_deployment
from tools.services import Postgres, Redis
from tools.services.process import free_port, wait_until
from tools.simulator import Simulator

PATIENT_SECONDS = 120
AHEAD = "create or replace function tollkeeper.ledger_now() returns timestamptz language sql stable return now() {};"


class Jobs(Node):
    """One `tollkeeper work`, asked on its metrics port."""

    command = "work"

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.settings |= {"TOLLKEEPER_WORK_METRICS_PORT": str(self.port), "TOLLKEEPER_PORT": str(free_port())}


def told(node: Node) -> str:
    """What /readyz says."""
    return ask(node, "/readyz").text.decode()


def times_logged(node: Node, words: str) -> int:
    """How often a process that runs said so; what was said before it ran is not counted."""
    lines = node.log.read_text().splitlines()
    return sum(words in line and "tollkeeper.cli.process" not in line for line in lines)


def said_again(node: Node, words: str) -> list[str]:
    """What a step of a process said twice, with nothing else between."""
    last, again = dict[str, str](), []
    for line in node.log.read_text().splitlines():
        message = str(msgspec.json.decode(line)["message"]) if line.startswith("{") else line
        step = re.split(r" failed: | waits: | goes on$", message)[0]
        if words in message and last.get(step) == message:
            again.append(message)
        last[step] = message
    return again


def becomes_ready(node: Node) -> None:
    wait_until(lambda: node.status("/readyz") == 200, within_seconds=PATIENT_SECONDS)


def says(node: Node, words: str) -> None:
    wait_until(lambda: words in told(node), within_seconds=PATIENT_SECONDS)


@contextmanager
def all_parts(settings: Mapping[str, str]) -> Iterator[list[Node]]:
    """A gateway, jobs and a console that were started, ready or not."""
    parts: list[Node] = [Node(settings), Jobs(settings), Console(settings)]
    with ExitStack() as stack:
        for part in parts:
            stack.callback(part.__exit__)
            part.start(until_ready=False)
        yield parts


async def run(url: str, sql: str, *values: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(sql, *values)
    finally:
        await connection.close()


async def test_every_process_may_start_before_the_stores_and_before_the_schema(tmp_path: Path) -> None:
    with ExitStack() as stack:
        # Their ports are known, and nobody listens there yet.
        postgres, redis = Postgres(), Redis()
        stack.callback(postgres.__exit__)
        stack.callback(redis.__exit__)
        settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": postgres.url,
            "TOLLKEEPER_REDIS_URL": redis.url,
            "TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path),
        }
        away = f"PostgreSQL at 127.0.0.1:{postgres.port} does not answer"
        parts = stack.enter_context(all_parts(settings))
        for part in parts:
            says(part, away)
            assert part.status("/readyz") == 503
        postgres.start()
        for part in parts:
            says(part, "no Tollkeeper schema yet")
            assert part.status("/readyz") == 503
        await asyncio.to_thread(migrate, postgres.url)
        for part in parts:
            becomes_ready(part)
        gateway = parts[0]
        assert ask(gateway, "/readyz").json["redis"] == "out of reach, going by shares"
        redis.start()
        wait_until(lambda: ask(gateway, "/readyz").json["redis"] == "ok", within_seconds=PATIENT_SECONDS)
        assert times_logged(gateway, away) == 1
        for part in parts:
            assert "Traceback" not in part.log.read_text()


async def test_a_schema_that_is_too_old_is_told_and_waited_for(stores: Stores, tmp_path: Path) -> None:
    settings = await variables(stores) | {"TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path)}
    url = settings["TOLLKEEPER_DATABASE_URL"]
    # As a database is that the version before had migrated.
    await run(url, "drop schema tollkeeper cascade")
    await asyncio.to_thread(migrate, url, "0042")
    words = f"this build needs {newest_known()}. Run 'tollkeeper migrate'"
    with all_parts(settings) as parts:
        for part in parts:
            says(part, words)
            assert part.status("/readyz") == 503
        await asyncio.to_thread(migrate, url)
        for part in parts:
            becomes_ready(part)
        for part in parts:
            assert "Traceback" not in part.log.read_text()
            assert times_logged(part, words) > 0
            assert not said_again(part, words)
    await stores.drop(url)


@pytest.fixture
async def settings(stores: Stores, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """Of a deployment that one test may harm."""
    made = await variables(stores) | {"TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path)}
    yield made
    await stores.drop(made["TOLLKEEPER_DATABASE_URL"])


async def test_a_newer_schema_is_told_and_calls_go_on(settings: dict[str, str]) -> None:
    url = settings["TOLLKEEPER_DATABASE_URL"]
    words = f"The schema is at revision 9000, newer than this build knows ({newest_known()})"
    with Node(settings) as node:
        assert ask(node, "/readyz").json["schema"] == "ok"
        await run(url, "update tollkeeper.alembic_version set version_num = $1", "9000")
        says(node, words)
        # Nodes of the version before serve while others are upgraded.
        assert node.status("/readyz") == 200
        assert times_logged(node, words) == 1
        await run(url, "update tollkeeper.alembic_version set version_num = $1", newest_known())
        wait_until(lambda: ask(node, "/readyz").json["schema"] == "ok", within_seconds=PATIENT_SECONDS)


async def test_a_node_with_a_wrong_clock_says_so_and_goes_by_the_databases(settings: dict[str, str]) -> None:
    url = settings["TOLLKEEPER_DATABASE_URL"]
    async with office(load(settings)) as desk:
        customers = Customers(desk)
        short = await customers.a_customer(expires_at=datetime.now(UTC) + timedelta(minutes=5))
        long = await customers.a_customer(expires_at=datetime.now(UTC) + timedelta(days=1))
    with Node(settings) as node:
        assert ask(node, "/readyz").json["clock"] == "ok"
        assert ask(node, "/v1/models", key=short.key).status == 200
        await run(url, AHEAD.format("+ interval '10 minutes'"))
        says(node, "This machine's clock is 600 s behind the database's.")
        assert node.status("/readyz") == 200
        # By this machine's clock it would have five minutes more.
        refused = ask(node, "/v1/models", key=short.key)
        assert (refused.status, refused.error["code"]) == (401, "expired_api_key")
        assert ask(node, "/v1/models", key=long.key).status == 200
        assert times_logged(node, "behind the database's") == 1
        await run(url, AHEAD.format(""))
        wait_until(lambda: ask(node, "/readyz").json["clock"] == "ok", within_seconds=PATIENT_SECONDS)
        assert times_logged(node, "clock is right again") == 1


async def test_an_account_whose_key_cannot_be_read_is_out_alone(settings: dict[str, str]) -> None:
    other_secret = "1:" + base64.b64encode(os.urandom(32)).decode()
    with Simulator(key=PROVIDER_KEY) as provider:

        def account(name: str) -> NewProviderAccount:
            return NewProviderAccount(name=name, vendor="openai", base_url=provider.base, secret=PROVIDER_KEY)

        async with office(load(settings | {"TOLLKEEPER_ENVELOPE_KEYS": other_secret})) as elsewhere:
            await elsewhere.providers.add(account("sealed-elsewhere"), actor=ACTOR)
        async with office(load(settings)) as desk:
            await desk.providers.add(account("good"), actor=ACTOR)
            customers = Customers(desk)
            customer, model = await customers.a_customer(), await customers.a_model()
            with Node(settings) as node:
                words = "1 of 2 accounts cannot be opened and get no calls: sealed-elsewhere."
                says(node, words)
                assert node.status("/readyz") == 200
                assert [chat(node, customer.key, model, "[[tokens=1]]").status for _ in range(5)] == [200] * 5
                assert times_logged(node, words) == 1
                await desk.providers.set_key("sealed-elsewhere", PROVIDER_KEY, given_for=provider.base, actor=ACTOR)
                wait_until(lambda: ask(node, "/readyz").json["providers"] == "ok", within_seconds=PATIENT_SECONDS)
