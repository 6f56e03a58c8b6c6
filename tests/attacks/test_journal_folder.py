"""Another user of the host prepares the journal's folder: to settle calls for nothing, to overwrite files of the
service's user, or to keep a node from becoming ready."""

import asyncio
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import Stores, variables
from tests.customers import Customers
from tests.storage.ledger.benches import a_settlement, an_order
from tollkeeper.app.office import office
from tollkeeper.ports import HoldOrder
from tollkeeper.settings import load
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.ledger.journal import encode
from tollkeeper.storage.ledger.journal_folder import JournalFolder, UnsafeFolder
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tools.node import Node, tollkeeper

NOBODY = 65_534
VICTIM = "what the symbolic links point to"
# More workers than any test starts.
WORKERS = range(1, 10)


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def readable_by_all(folder: Path) -> None:
    folder.chmod(0o755)


def behind_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def in_an_open_folder(folder: Path) -> None:
    folder.parent.chmod(0o777)


def of_another(folder: Path) -> None:
    os.chown(folder, NOBODY, NOBODY)


def in_a_folder_of_another(folder: Path) -> None:
    os.chown(folder.parent, NOBODY, NOBODY)


TRAPS: dict[Callable[[Path], None], str] = {
    open_to_all: "chmod 700",
    readable_by_all: "chmod 700",
    behind_a_link: "symbolic link",
    in_an_open_folder: "chmod go-w",
}
if os.geteuid() == 0:
    # Only root can give a folder away.
    TRAPS |= {of_another: "chown -R root", in_a_folder_of_another: "chown root"}


class Scene:
    """A deployment with one call under way, and the place where its journal will be."""

    def __init__(self, settings: dict[str, str], order: HoldOrder) -> None:
        self.settings = settings
        self.order = order
        self.folder = load(settings).journal
        self.folder.mkdir(parents=True, mode=0o700)
        self.folder.parent.chmod(0o700)

    def forge(self, path: Path) -> None:
        """Write a line that settles the call for nothing."""
        path.write_bytes(encode(a_settlement(self.order, 0)) + b"\n")

    async def settled(self) -> int:
        connection = await asyncpg.connect(
            load(self.settings).database_url, server_settings={"search_path": "tollkeeper"}
        )
        try:
            count: int = await connection.fetchval("select count(*) from usage")
            return count
        finally:
            await connection.close()


@pytest.fixture
async def scene(stores: Stores, tmp_path: Path) -> Scene:
    settings = await variables(stores) | {"TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path / "journals")}
    async with office(load(settings)) as desk:
        customers = Customers(desk)
        await customers.a_model()
        customer = await customers.a_customer()
    database = Database(load(settings).database_url, DatabaseRole.WORKER, connections=6, patience_seconds=20)
    await database.open()
    bookkeeper = Bookkeeper(database, "here", tmp_path / "of the call", patience_seconds=20)
    await bookkeeper._begin()
    order = an_order(customer.account_id, customer.key_id, 1_000)
    await bookkeeper.ledger.hold(order)
    await bookkeeper.close()
    await database.close()
    return Scene(settings, order)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
async def test_a_node_does_not_start_on_a_folder_that_others_prepared(
    scene: Scene, trap: Callable[[Path], None]
) -> None:
    scene.forge(scene.folder / "4711-000001.journal")
    trap(scene.folder)
    done = await asyncio.to_thread(tollkeeper, scene.settings, "serve")
    assert done.returncode == 1
    assert TRAPS[trap] in done.stderr
    assert "journal's folder" in done.stderr
    assert "Traceback" not in done.stderr
    done = await asyncio.to_thread(tollkeeper, scene.settings, "work")
    assert (done.returncode, "journal's folder" in done.stderr) == (1, True)
    assert await scene.settled() == 0


async def test_files_that_are_not_ours_harm_nothing_and_do_not_keep_a_node_from_being_ready(
    scene: Scene, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text(VICTIM)
    (scene.folder / "x.journal").write_text("nonsense")
    (scene.folder / "7-x.journal").mkdir()
    os.mkfifo(scene.folder / "4710-000001.journal")
    scene.forge(tmp_path / "forged")
    (scene.folder / "4711-000001.journal").hardlink_to(tmp_path / "forged")
    (scene.folder / "4712-000001.journal").symlink_to(tmp_path / "forged")
    if os.geteuid() == 0:
        given = scene.folder / "4713-000001.journal"
        scene.forge(given)
        os.chown(given, NOBODY, NOBODY)
    for worker in WORKERS:
        for ending in ("new", "journal"):
            (scene.folder / f"{worker}-000001.{ending}").symlink_to(victim)
    with Node(scene.settings) as node:
        assert "x.journal is left alone" in node.log.read_text()
        assert "4711-000001.journal is left alone" in node.log.read_text()
        assert await scene.settled() == 0
    assert victim.read_text() == VICTIM


def test_the_folder_is_made_for_us_alone(tmp_path: Path) -> None:
    JournalFolder(tmp_path / "above" / "journal").close()
    for folder in (tmp_path / "above", tmp_path / "above" / "journal"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_told_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnsafeFolder, match="install -d -m 700"):
        JournalFolder(tmp_path / "file" / "journal")


async def test_what_an_earlier_version_left_in_its_folder_is_settled(scene: Scene, tmp_path: Path) -> None:
    former = tmp_path / "former"
    former.mkdir(mode=0o700)
    scene.forge(former / "4711-000001.journal")
    database = Database(load(scene.settings).database_url, DatabaseRole.WORKER, connections=6, patience_seconds=20)
    await database.open()
    bookkeeper = Bookkeeper(database, "here", scene.folder, patience_seconds=20, former_folder=former)
    for mode, settled in ((0o777, 0), (0o700, 1)):
        former.chmod(mode)
        await bookkeeper._begin()
        assert await scene.settled() == settled
    shutil.rmtree(former)
    await bookkeeper._begin()
    await bookkeeper.close()
    await database.close()
