"""The disk of the journal is full: no call is lost or charged twice, new ones are refused, and it is over by itself."""

import os
import resource
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.chat import chat, listening, order, read_until
from tests.client import Answer, ask
from tests.conftest import PROVIDER_KEY, Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tests.journeys.small_segments import SEGMENT_BYTES
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node, children, tollkeeper
from tools.services.process import wait_until, wait_until_async
from tools.simulator import Simulator

PATIENT_SECONDS = 120
# Room for one segment, and not for a second beside it.
ONE_SEGMENT_KB = 28
CALLS_MOST = 200

needs_mount = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk of a few kilobytes")


class SmallSegments(Node):
    program = ("-m", "tests.journeys.small_segments")


class Disk:
    """A disk of a few kilobytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, kilobytes: int) -> None:
        _run("mount", "-o", f"remount,size={kilobytes}k", str(self.folder))


@contextmanager
def a_disk(folder: Path, kilobytes: int) -> Iterator[Disk]:
    folder.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "tmpfs", str(folder))
    try:
        yield Disk(folder)
    finally:
        _run("umount", "-l", str(folder))


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{' '.join(command)}: {done.stderr.strip()}")


class Town:
    """A customer and a model, and what was charged."""

    def __init__(self, settings: dict[str, str], customer: Customer, model: str) -> None:
        self.settings = settings
        self.customer = customer
        self.model = model

    def call(self, node: Node) -> Answer:
        return chat(node, self.customer.key, self.model, "[[tokens=1]]")

    def calls_until_refused(self, node: Node) -> tuple[int, Answer]:
        """How many were answered, and the first that was not."""
        for answered in range(CALLS_MOST):
            answer = self.call(node)
            if answer.status != 200:
                return answered, answer
        raise AssertionError(f"{CALLS_MOST} calls were answered")

    async def charged(self) -> int:
        """How many calls were charged, once no hold is open any more."""
        connection = await asyncpg.connect(
            self.settings["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"}
        )
        try:

            async def is_closed() -> bool:
                return not await connection.fetchval("select count(*) from hold where closed_at is null")

            await wait_until_async(is_closed, within_seconds=PATIENT_SECONDS)
            found: int = await connection.fetchval("select count(*) from usage where charged > 0")
            return found
        finally:
            await connection.close()

    def books_are_clean(self) -> bool:
        return tollkeeper(self.settings, "books", "check").returncode == 0


@pytest.fixture
async def town(stores: Stores, tmp_path: Path) -> AsyncIterator[Town]:
    settings = await variables(stores) | {"TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path / "disk")}
    await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
    with Simulator(key=PROVIDER_KEY) as provider:
        async with office(load(settings)) as desk:
            account = NewProviderAccount(name="p", vendor="openai", base_url=provider.base, secret=PROVIDER_KEY)
            await desk.providers.add(account, actor=ACTOR)
            customers = Customers(desk)
            customer, model = await customers.a_customer(), await customers.a_model()
        yield Town(settings, customer, model)
    await stores.drop(settings["TOLLKEEPER_DATABASE_URL"])


def is_refused(answer: Answer) -> bool:
    return (answer.status, answer.error["code"]) == (503, "journal_unavailable")


def is_full(node: Node) -> None:
    """It is told on /readyz, and once in the log."""
    health = ask(node, "/readyz")
    assert health.status == 503
    assert "cannot be written (No space left on device): new calls are refused" in health.json["ledger"]
    lines = node.log.read_text().splitlines()
    assert sum("cannot be written (No space left on device)" in line for line in lines) == 1
    assert "Traceback" not in node.log.read_text()


def becomes_ready(node: Node) -> None:
    wait_until(lambda: node.status("/readyz") == 200, within_seconds=PATIENT_SECONDS)


@needs_mount
async def test_a_disk_that_fills_up_refuses_new_calls_ends_those_under_way_and_recovers(
    town: Town, tmp_path: Path
) -> None:
    with a_disk(tmp_path / "disk", ONE_SEGMENT_KB) as disk, SmallSegments(town.settings) as node:
        body = order(town.model, "[[tokens=4000 chunk_ms=20]]", stream=True, max_tokens=4_000)
        with listening(node, town.customer.key, body) as stream:
            read_until(stream, b"data")
            answered, refused = town.calls_until_refused(node)
            assert is_refused(refused)
            assert "Nothing was sent or charged" in refused.error["message"]
            is_full(node)
            # The stream goes on, and its caller hangs up after a while.
            read_until(stream, b"data")
        disk.resize(ONE_SEGMENT_KB * 10)
        becomes_ready(node)
        assert town.call(node).status == 200
        assert "the journal can be written again" in node.log.read_text()
    assert await town.charged() == answered + 2
    assert town.books_are_clean()


@needs_mount
async def test_a_worker_that_dies_with_its_disk_full_is_settled_once_by_the_next(town: Town, tmp_path: Path) -> None:
    with a_disk(tmp_path / "disk", ONE_SEGMENT_KB) as disk, SmallSegments(town.settings) as node:
        body = order(town.model, "[[tokens=4000 chunk_ms=20]]", stream=True, max_tokens=4_000)
        with listening(node, town.customer.key, body) as stream:
            read_until(stream, b"data")
            answered, refused = town.calls_until_refused(node)
            assert is_refused(refused)
            node.kill()
        # The next worker needs a segment of its own, for which there is room once it has read those of the dead one.
        node.start()
        assert town.call(node).status == 200
        left = [file.name for file in disk.folder.iterdir()]
        assert len(left) == 1, left
    assert await town.charged() == answered + 2
    assert town.books_are_clean()


@needs_mount
async def test_a_node_that_starts_on_a_full_disk_waits_for_room(town: Town, tmp_path: Path) -> None:
    # Less than one segment.
    with a_disk(tmp_path / "disk", SEGMENT_BYTES // 2 // 1024) as disk:
        node = SmallSegments(town.settings)
        try:
            node.start(until_ready=False)
            wait_until(lambda: "cannot be written" in ask(node, "/readyz").json["ledger"], within_seconds=60)
            is_full(node)
            assert is_refused(town.call(node))
            disk.resize(1_000)
            becomes_ready(node)
            assert town.call(node).status == 200
        finally:
            node.__exit__()
    assert await town.charged() == 1


async def test_a_limit_on_the_size_of_files_is_told_like_a_full_disk(town: Town) -> None:
    node = Node(town.settings)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Of its children, which inherit it: half a segment.
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 1024 * 1024, before[1]))
    try:
        node.start(until_ready=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    try:
        wait_until(lambda: "(File too large)" in ask(node, "/readyz").json["ledger"], within_seconds=60)
        assert is_refused(town.call(node))
        assert node.process is not None
        for pid in (node.process.pid, *children(node.process.pid)):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        becomes_ready(node)
        assert town.call(node).status == 200
    finally:
        node.__exit__()
    assert await town.charged() == 1
