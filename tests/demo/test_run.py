"""`tollkeeper demo`: it says what to try, and however it ends, nothing of it stays behind."""

import asyncio
import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import asyncpg
import pytest

from tests.tools.test_orphans import is_there
from tollkeeper.demo.past.people import EMAIL
from tools.node import clean_environment
from tools.services import Postgres
from tools.services.process import free_port, wait_until

pytestmark = pytest.mark.not_quick

READY = "Stop with Ctrl-C."
KEY = re.compile(r"^Key: +(sk-\w+)$", re.MULTILINE)
SIGN_IN = re.compile(rf"sign in as {EMAIL} with: ([0-9a-f]{{16}})$", re.MULTILINE)
SQL = re.compile(r"^    (drop .+;)$", re.MULTILINE)


@pytest.fixture
def room() -> Iterator[Path]:
    """For everything that it writes. Its stores, which have another user, may go through."""
    with tempfile.TemporaryDirectory(prefix="tollkeeper-room-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


class DemoRun:
    """`tollkeeper demo`, with all its files in one room."""

    def __init__(self, room: Path, told: Path, *options: str, variables: Mapping[str, str]) -> None:
        inherited = {name: value for name, value in clean_environment().items() if not name.endswith("_URL")}
        self._told = told
        with told.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tollkeeper", "demo", *options],
                env=inherited | {"TMPDIR": str(room), "PYTHONUNBUFFERED": "1"} | dict(variables),
                stdout=output,
                stderr=output,
            )

    def output(self) -> str:
        return self._told.read_text()

    def check_alive(self) -> None:
        assert self.process.poll() is None, self.output()

    def wait_until_ready(self) -> None:
        wait_until(lambda: READY in self.output(), self.check_alive, within_seconds=280)


@contextlib.contextmanager
def a_demo(room: Path, told: Path, *options: str, variables: Mapping[str, str] | None = None) -> Iterator[DemoRun]:
    run = DemoRun(room, told, *options, variables=variables or {})
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()


def descendants(pid: int) -> list[int]:
    parents = {int(stat.parent.name): _parent(stat) for stat in Path("/proc").glob("[0-9]*/stat")}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def _parent(stat: Path) -> int:
    with contextlib.suppress(OSError):
        return int(stat.read_text().rpartition(") ")[2].split()[1])
    return 0


def call(port: int, key: str) -> tuple[int, bytes]:
    order = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello [[tokens=3]]"}]}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("POST", "/v1/chat/completions", json.dumps(order), {"authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.usefixtures("interruptible")
def test_it_can_be_used_and_leaves_nothing_after_ctrl_c(room: Path, tmp_path: Path) -> None:
    port, console_port = free_port(), free_port()
    with a_demo(room, tmp_path / "told", f"--port={port}", f"--console-port={console_port}") as run:
        run.wait_until_ready()
        for word in (f"127.0.0.1:{port}", f"localhost:{console_port}", "curl", "OpenAI(", "claude"):
            assert word in run.output()
        assert SIGN_IN.search(run.output())
        found = KEY.search(run.output())
        assert found is not None
        status, answer = call(port, found[1])
        assert (status, b"river stone garden" in answer) == (200, True)
        servers = descendants(run.process.pid)
        assert len(servers) > 5
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(60) == 0
        assert "nothing is left running" in run.output()
        wait_until(lambda: not any(map(is_there, servers)))
        wait_until(lambda: not any(room.iterdir()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda each: each.name)
def test_it_leaves_nothing_when_it_is_ended_while_it_begins(room: Path, tmp_path: Path, number: signal.Signals) -> None:
    with a_demo(room, tmp_path / "told") as run:
        wait_until(lambda: "Making the schema" in run.output(), run.check_alive)
        servers = descendants(run.process.pid)
        run.process.send_signal(number)
        assert run.process.wait(60) == (-number if number == signal.SIGKILL else 128 + number)
        wait_until(lambda: not any(map(is_there, servers)))
        wait_until(lambda: not any(room.iterdir()))


def test_what_it_leaves_in_a_database_that_was_given_is_told_and_can_be_removed(room: Path, tmp_path: Path) -> None:
    with Postgres() as server:
        with a_demo(room, tmp_path / "told", variables={"DATABASE_URL": server.url}) as run:
            wait_until(lambda: "Writing two months" in run.output(), run.check_alive)
            run.process.send_signal(signal.SIGTERM)
            assert run.process.wait(60) == 128 + signal.SIGTERM
        drops = SQL.findall(run.output())
        assert [line.split()[1] for line in drops] == ["schema", "owned", "role"]
        asyncio.run(execute(server.url, *drops))
        # As empty as it was.
        with a_demo(room, tmp_path / "again", variables={"DATABASE_URL": server.url}) as again:
            wait_until(lambda: "Making the schema" in again.output(), again.check_alive)


def test_a_database_of_another_application_is_refused_in_a_sentence(room: Path, tmp_path: Path) -> None:
    with Postgres() as server:
        asyncio.run(execute(server.url, "create table orders ()"))
        with a_demo(room, tmp_path / "told", variables={"DATABASE_URL": server.url}) as run:
            assert run.process.wait(120) == 1
        roles = asyncio.run(execute(server.url, "select from pg_roles where rolname like 'tollkeeper\\_%'"))
    assert "it has the table public.orders" in run.output()
    assert "keeps what the demo wrote" not in run.output()
    assert "Traceback" not in run.output()
    assert roles == []


async def execute(url: str, *statements: str) -> list[asyncpg.Record]:
    """What the last one finds."""
    connection = await asyncpg.connect(url)
    try:
        found: list[asyncpg.Record] = []
        for statement in statements:
            found = await connection.fetch(statement)
        return found
    finally:
        await connection.close()


def test_a_port_that_is_wanted_and_taken_is_named_before_anything_is_started(room: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with a_demo(room, tmp_path / "told", f"--port={port}") as run:
            assert run.process.wait(60) == 1
        assert run.output().split("\n")[0] == (
            f"Port {port} is taken: stop what listens there, or give another one with --port."
        )
        assert not any(room.iterdir())


def test_missing_stores_are_named_with_how_to_get_them(room: Path, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    with a_demo(room, tmp_path / "told", variables={"PATH": str(empty), "DATABASE_URL": "postgresql://x"}) as run:
        assert run.process.wait(60) == 1
    told = run.output().strip().splitlines()
    assert told == [
        (
            "Redis is not installed: on Debian and Ubuntu, sudo apt install redis-server; or set REDIS_URL to a "
            "running server."
        )
    ]
    assert not any(room.iterdir())


def test_a_failure_midway_is_a_sentence_and_leaves_nothing(room: Path, tmp_path: Path) -> None:
    nowhere = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    with a_demo(room, tmp_path / "told", variables={"DATABASE_URL": nowhere}) as run:
        assert run.process.wait(120) == 1
    assert "The database that DATABASE_URL names does not answer" in run.output()
    assert "Traceback" not in run.output()
    assert not any(room.iterdir())
