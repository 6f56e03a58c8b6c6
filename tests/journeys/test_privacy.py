"""No word of a call is kept: not in the database, not in a log, not in a file."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom

import msgspec
import pytest

from proofs.privacy.canaries import Canaries
from proofs.privacy.canary_targets import Targets, furnish
from proofs.privacy.every_call import every_call
from proofs.privacy.raw_http import Heard, place
from proofs.privacy.scan import Find, Scanner
from proofs.privacy.sinks import Sink, dump, folder
from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.database import connect
from tests.conftest import Stores, variables
from tools.node import Node
from tools.services.process import wait_until, wait_until_async
from tools.simulator import Simulator

VENDORS = ("openai", "anthropic")
CALLS_AT_ONCE = 4


class House:
    """A deployment of its own: a node whose files are all in one folder."""

    def __init__(self, settings: dict[str, str], targets: Targets, node: Node, files: Path) -> None:
        self.settings = settings
        self.targets = targets
        self.node = node
        self.files = files

    def sinks(self) -> list[Sink]:
        """Where something could be kept."""
        database_url = self.settings["TOLLKEEPER_DATABASE_URL"]
        return [
            Sink("database", lambda: [("dump", dump(database_url))]),
            folder("log", self.node.log),
            folder("files", self.files),
        ]

    async def settled(self, heard: Sequence[Heard]) -> None:
        """Wait until nothing is held for any call, and the log has a line for each."""
        connection = await connect(self.settings["TOLLKEEPER_DATABASE_URL"])

        async def nothing_is_held() -> bool:
            return bool(await connection.fetchval("select coalesce(sum(held), 0) = 0 from account_books"))

        try:
            await wait_until_async(nothing_is_held)
        finally:
            await connection.close()
        wanted = {one.request_id for one in heard if one.request_id}
        wait_until(lambda: wanted <= {str(line["request_id"]) for line in self.node.call_lines()})


@pytest.fixture(scope="module")
async def house(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    files = tmp_path_factory.mktemp("house")
    for name in ("journal", "tmp"):
        (files / name).mkdir(mode=0o700)
    places = {"TOLLKEEPER_JOURNAL_FOLDER": str(files / "journal"), "TMPDIR": str(files / "tmp")}
    settings = await variables(stores) | places
    with Simulator(key=PROVIDER_KEY, hostile=True) as provider:
        targets = await asyncio.to_thread(furnish, settings, provider.base, str)
        with Node(settings) as node:
            yield House(settings, targets, node, files)


def found_in(sink: Sink, marker: str) -> list[tuple[str, Find]]:
    scanner = Scanner(marker)
    return [(piece, find) for piece, data in sink.pieces() for find in scanner.finds(data)]


@pytest.mark.rule("S12.1")
async def test_no_word_of_any_call_or_answer_is_kept(house: House) -> None:
    canaries = Canaries(SystemRandom())
    with ThreadPoolExecutor(CALLS_AT_ONCE) as hands:
        heard = list(hands.map(lambda call: place(house.node.port, call), every_call(house.targets, canaries, VENDORS)))
    said = [one for one in heard if one.status == 200 and canaries.marker.encode() in one.text]
    assert len(said) > len(VENDORS) * 20, "canaries that are never said prove nothing"
    await house.settled(heard)
    for sink in house.sinks():
        assert found_in(sink, canaries.marker) == []


async def test_a_word_that_is_kept_is_found(house: House) -> None:
    canaries = Canaries(SystemRandom())
    connection = await connect(house.settings["TOLLKEEPER_DATABASE_URL"])
    try:
        await connection.execute("insert into account (name) values ($1)", canaries.word("a row"))
    finally:
        await connection.close()
    with house.node.log.open("ab") as log:
        log.write(msgspec.json.encode({"message": canaries.text("a line")}))
    (house.files / "tmp" / "spooled").write_text(canaries.text("a file"))
    assert [bool(found_in(sink, canaries.marker)) for sink in house.sinks()] == [True] * 3
