"""Secrets: keys of providers and of customers, peppers and envelope keys are in no answer, log, table or file."""

import base64
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import asyncpg
import pytest
import redis.asyncio as redis_client

from tests.chat import chat
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node, tollkeeper
from tools.services import Redis
from tools.services.process import wait_until
from tools.simulator import Simulator

PROVIDER_KEY = "sk-canary-of-the-provider-1f9e07c2"
# What a provider says in the content of its answer is its own affair: that passes as it comes.
LEAKS = ("error", "code", "type", "param", "status_text", "headers", "event")
COMMANDS = (
    ("provider", "list"),
    ("settings",),
    ("books", "check"),
    ("price", "list"),
    ("books", "statement", "1"),
    ("key", "list", "1"),
)


class Scene(NamedTuple):
    settings: dict[str, str]
    node: Node
    customer: Customer
    model: str
    redis: Redis
    owner: asyncpg.Connection

    @property
    def secrets(self) -> list[bytes]:
        """As they are, and as they look in base64, hex and upside-down case."""
        own = [self.settings[name].partition(":")[2] for name in ("TOLLKEEPER_PEPPERS", "TOLLKEEPER_ENVELOPE_KEYS")]
        plain = [secret.encode() for secret in (PROVIDER_KEY, self.customer.key, self.customer.key[8:], *own)]
        return [*plain, *(base64.b64encode(one)[:-4] for one in plain), *(one.hex().encode() for one in plain)]

    def chat(self, text: str, *, stream: bool) -> Answer:
        return chat(self.node, self.customer.key, self.model, text, stream=stream)

    def found_in(self, written: bytes) -> list[bytes]:
        return [secret for secret in self.secrets if secret in written]


@pytest.fixture(scope="module")
def own_redis() -> Iterator[Redis]:
    with Redis() as running:
        yield running


@pytest.fixture(scope="module")
async def scene(stores: Stores, own_redis: Redis, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    settings = await variables(stores) | {
        "TOLLKEEPER_REDIS_URL": own_redis.url,
        "TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path_factory.mktemp("journal", numbered=True)),
    }
    url = settings["TOLLKEEPER_DATABASE_URL"]
    await without_limits(url)
    owner = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
    with Simulator(key=PROVIDER_KEY, hostile=True) as simulator:
        async with office(load(settings)) as desk:
            customers = Customers(desk)
            model, customer = await customers.a_model(), await customers.a_customer()
            for number in range(20):
                account = NewProviderAccount(
                    name=f"provider-{number}", vendor="openai", base_url=simulator.base, secret=PROVIDER_KEY
                )
                await desk.providers.add(account, actor=ACTOR)
        with Node(settings) as node:
            yield Scene(settings, node, customer, model, own_redis, owner)
    await owner.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", LEAKS)
def test_what_a_provider_gives_away_of_its_key_reaches_no_caller(scene: Scene, place: str, stream: bool) -> None:
    answer = scene.chat(f"Hi [[leak={place}]]", stream=stream)
    assert scene.found_in(answer.text) == []
    assert scene.found_in(repr(answer.headers).encode()) == []


def test_a_key_in_every_wrong_place_is_said_back_by_nobody(scene: Scene) -> None:
    key, said = scene.customer.key, {"messages": [{"role": "user", "content": "Hi"}]}
    answers = [
        ask(scene.node, f"/v1/{key}", key=key),
        ask(scene.node, f"/v1/models?api_key={key}"),
        ask(scene.node, "/v1/models", headers={"X-Api-Key": key, "User-Agent": key, "Cookie": f"key={key}"}),
        ask(scene.node, "/v1/models", headers={"Authorization": f"Basic {key}"}),
        ask(scene.node, "/api/token", method="POST", body={"api_key": key}),
        ask(scene.node, "/api/token", method="POST", body={"key": key}),
        chat(scene.node, key, key, "Hi"),
        ask(scene.node, "/v1/chat/completions", method="POST", key=key, body={"model": scene.model, key: 1, **said}),
        ask(scene.node, f"/v1/models/{key}", key=key),
        ask(scene.node, f"/v2/calls/{key}", key=key),
        ask(scene.node, "/v1/messages", method="POST", key=key, body={"model": key, "max_tokens": 1, **said}),
        ask(scene.node, "/v1/responses", method="POST", key=key, body={"model": key, "input": "Hi"}),
        ask(scene.node, "/v1/models", method=key.replace("-", "")),
    ]
    assert [scene.found_in(answer.text + repr(answer.headers).encode()) for answer in answers] == [[]] * len(answers)
    assert {answer.status for answer in answers} <= {200, 400, 401, 404, 405}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_command_shows_one(scene: Scene, arguments: tuple[str, ...]) -> None:
    done = tollkeeper(scene.settings, *arguments)
    assert done.returncode == 0, done.stderr
    assert scene.found_in((done.stdout + done.stderr).encode()) == []


def test_no_log_has_one(scene: Scene) -> None:
    last = ask(scene.node, "/v1/models").headers["x-request-id"]
    wait_until(lambda: last in scene.node.log.read_text(), within_seconds=30)
    assert scene.found_in(scene.node.log.read_bytes()) == []


async def test_no_table_has_one(scene: Scene) -> None:
    tables = await scene.owner.fetch("select tablename from pg_tables where schemaname = 'tollkeeper'")
    assert len(tables) > 10
    for table in tables:
        for row in await scene.owner.fetch(f'select t::text as kept from "{table["tablename"]}" t'):  # noqa: S608
            assert scene.found_in(row["kept"].encode()) == [], table["tablename"]


async def test_nothing_in_redis_has_one(scene: Scene) -> None:
    client = redis_client.from_url(scene.redis.url)
    async for name in client.scan_iter():
        assert scene.found_in(name + (await client.dump(name) or b"")) == []
    await client.aclose()


def test_no_journal_has_one(scene: Scene) -> None:
    for file in Path(scene.settings["TOLLKEEPER_JOURNAL_FOLDER"]).rglob("*"):
        if file.is_file():
            assert scene.found_in(file.read_bytes()) == [], file.name


def test_a_secret_that_were_there_would_be_found(scene: Scene) -> None:
    """The search itself finds what it looks for."""
    assert scene.found_in(b"x" + PROVIDER_KEY.encode() + b"y")
    assert scene.found_in(base64.b64encode(scene.customer.key.encode()))
