"""The deployment that documented commands are run against: the demo's customer, whose account is 4711 as in the pages.

Rules of this file
1. Commands are run as they are shown. What only the reader can know (an address, a key, today) is filled in.
2. Numbers in the pages are real: sequences begin so that account 4711, lot 99 and the others are there.
"""

import asyncio
import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import asyncpg
import msgspec

from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.demo.site import write_past
from tollkeeper.ports import NewModel, NewPrice
from tollkeeper.settings import load
from tollkeeper.storage.postgres.schema import migrate
from tools.accounts import add_accounts, without_limits
from tools.console import Console
from tools.node import Node, command, own_deployment
from tools.services.process import free_port
from tools.simulator import Simulator

PROVIDER_KEY = "sk-of-the-provider"
PROVIDER = "simulator-0"
ACCOUNT = "4711"
# Beside what the demo sells.
MORE_MODELS = ("gemini-3-pro", "gemini-2.5-pro")
# The next number of each sequence: before anybody signs up (Ada is the second), and before a page begins.
FIRST_IDS = {"account": 4710, "lot": 99, "price": 100_000, "api_key": 1_000, "redemption_batch": 100}
PAGE_IDS: Mapping[str, Mapping[str, int]] = {
    "docs/guides/accounts.md": {"api_key": 17, "redemption_batch": 3},
    "docs/guides/time.md": {"price": 17},
}
GATEWAYS = ("https://gateway.example", "http://127.0.0.1:8080", "http://HOST:8080")
METRICS = ("http://127.0.0.1:9464", "http://HOST:9464")
CONSOLES = ("http://127.0.0.1:8090", "https://console.example.com")
METRICS_PORTS = ("9464", "9465", "9466")


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    settings: dict[str, str]
    # Of a deployment where nothing was set up, on the same servers; made anew from the template for every page.
    empty: dict[str, str]
    template_url: str
    base: str
    metrics: str
    console: str
    provider: str
    key: str
    operator_key: str
    call_id: str
    # As `tollkeeper books check` told it.
    audit_head: str

    def filled(self, text: str) -> str:
        """A command with what its reader would fill in."""
        for port in METRICS_PORTS:
            if f"_PORT={port}" in text:
                text = text.replace(port, str(free_port()))
        addresses = dict.fromkeys(GATEWAYS, self.base) | dict.fromkeys(METRICS, self.metrics)
        addresses |= dict.fromkeys(CONSOLES, self.console)
        for told, real in (addresses | self._of_operators()).items():
            text = text.replace(told, real)
        for name, real in {"(REQUEST_)?ID": self.call_id, "NAME": PROVIDER, "ACCOUNT": ACCOUNT}.items():
            text = re.sub(rf"\b{name}\b", real, text)
        return _dated(text.replace("sk-…", self.key).replace("op-…", self.operator_key).replace(".venv/bin/", ""))

    def _of_operators(self) -> dict[str, str]:
        root = self.provider.removesuffix("/v1")
        return {
            "postgresql://tollkeeper:password@host/tollkeeper": self.empty["TOLLKEEPER_DATABASE_URL"],
            "postgresql://tollkeeper:password@db.example/tollkeeper": self.empty["TOLLKEEPER_DATABASE_URL"],
            "postgresql://…": self.settings["TOLLKEEPER_DATABASE_URL"],
            "redis://host:6379/0": self.settings["TOLLKEEPER_REDIS_URL"],
            "/var/lib/tollkeeper": self.settings["TOLLKEEPER_JOURNAL_FOLDER"],
            "812:9f3c…": self.audit_head,
            "openai-main": PROVIDER,
            # What stands in for it is nobody's own address, so which models it serves must be said.
            "https://api.openai.com/v1": f"{self.provider} --all-models",
            "https://west.openai.azure.com": root,
            "https://api.anthropic.com": root,
            "https://generativelanguage.googleapis.com": root,
        }

    def begin(self, page: str) -> None:
        """Let the numbers that a page names be the next ones, and the empty deployment be empty."""
        shown, empty = self.settings["TOLLKEEPER_DATABASE_URL"], self.empty["TOLLKEEPER_DATABASE_URL"]
        asyncio.run(_set_next(shown, PAGE_IDS.get(page, {})))
        asyncio.run(_drop(shown, empty))
        template = self.template_url.rpartition("/")[2]
        asyncio.run(_execute(shown, f'create database "{empty.rpartition("/")[2]}" template "{template}"'))


@contextmanager
def set_scene(server_url: str, redis_url: str, folder: Path) -> Iterator[Scene]:
    """On databases of its own, in a PostgreSQL that `server_url` names."""
    with ExitStack() as stack:
        # redis-cli wants the user's name beside a password.
        shared = own_deployment() | {"TOLLKEEPER_REDIS_URL": redis_url.replace("redis://:", "redis://default:")}
        settings = shared | _own_places(stack, server_url, folder / "shown")
        asyncio.run(_set_next(settings["TOLLKEEPER_DATABASE_URL"], FIRST_IDS))
        told = write_past(settings)
        provider = stack.enter_context(Simulator())
        asyncio.run(_sell(settings, provider.base))
        metrics_port = str(free_port())
        node = stack.enter_context(Node(settings | {"TOLLKEEPER_METRICS_PORT": metrics_port}))
        console = stack.enter_context(Console(settings))
        template = shared | _own_places(stack, server_url, folder / "empty")
        stack.callback(lambda: asyncio.run(_drop(server_url, _beside(template)["TOLLKEEPER_DATABASE_URL"])))
        yield Scene(
            settings=settings | {"TOLLKEEPER_PORT": str(node.port)},
            empty=_beside(template),
            template_url=template["TOLLKEEPER_DATABASE_URL"],
            base=node.base,
            metrics=f"http://127.0.0.1:{metrics_port}",
            console=f"http://127.0.0.1:{console.port}",
            provider=provider.base,
            key=told.key,
            operator_key=_operator_key(settings),
            call_id=_first_call(node.base, told.key),
            audit_head=json.loads(command(settings, "books", "check", "--json"))["audit_head"],
        )


def _operator_key(settings: Mapping[str, str]) -> str:
    """The text of one that may do everything."""
    return command(settings, "operator-key", "create", "documented", "--scope", "everything").splitlines()[1]


def _dated(text: str) -> str:
    """Days to come, a day and the month that are over, as seen from today."""
    today = datetime.now(UTC)
    last_month = today.replace(day=1) - timedelta(days=1)
    for day, days in {"2026-11-03": -10, "2026-12-06": 20, "2026-12-31": 300}.items():
        text = text.replace(day, f"{today + timedelta(days=days):%Y-%m-%d}")
    return text.replace("2026-10", f"{last_month:%Y-%m}")


def _own_places(stack: ExitStack, server_url: str, folder: Path) -> dict[str, str]:
    """A new database with the schema, dropped with the scene, and folders."""
    name = f"documented_{uuid4().hex}"
    url = f"{server_url.rpartition('/')[0]}/{name}"
    asyncio.run(_execute(server_url, f'create database "{name}"'))
    stack.callback(lambda: asyncio.run(_drop(server_url, url)))
    migrate(url)
    return {
        "TOLLKEEPER_DATABASE_URL": url,
        "TOLLKEEPER_JOURNAL_FOLDER": str(folder / "journal"),
        "TOLLKEEPER_LOG_SITE": f"file://{folder}/log-site",
    }


def _beside(template: Mapping[str, str]) -> dict[str, str]:
    return dict(template) | {"TOLLKEEPER_DATABASE_URL": template["TOLLKEEPER_DATABASE_URL"] + "_empty"}


async def _drop(server_url: str, database_url: str) -> None:
    await _execute(server_url, f'drop database if exists "{database_url.rpartition("/")[2]}" with (force)')


async def _sell(settings: dict[str, str], provider: str) -> None:
    """A provider for everything, and the models that pages name."""
    await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
    await add_accounts(settings, provider, PROVIDER_KEY, 2)
    async with office(load(settings)) as desk:
        for name in MORE_MODELS:
            price = NewPrice(model=Decimal(2), completion=Decimal(5))
            await desk.catalog.add_model(NewModel(id=name, kind=Kind.CHAT, price=price), actor=desk.actor)


def _first_call(base: str, key: str) -> str:
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}).encode()
    request = urllib.request.Request(f"{base}/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.headers["x-request-id"])


async def _set_next(database_url: str, ids: Mapping[str, int]) -> None:
    for table, first in ids.items():
        sequence = f"pg_get_serial_sequence('tollkeeper.{table}', 'id')"
        await _execute(database_url, f"select setval({sequence}, {first}, false)")


async def _execute(database_url: str, sql: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()
