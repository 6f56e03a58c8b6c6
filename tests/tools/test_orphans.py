"""However a run of tests ends, the servers that it started end too, and their files are gone."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.services import Postgres, Redis
from tools.services.process import Server, wait_until

pytestmark = pytest.mark.not_quick

DISTRIBUTED = ("--numprocesses", "1")
ROOT = Path(__file__).parents[2]
# A test that starts servers, says who they are, and then waits for what never comes.
ENDLESS = """
import json, pathlib, threading
from tools.services import Postgres, Redis

def test_without_end():
    with Postgres() as postgres, Redis() as redis:
        found = [{"pids": server.pids(), "folder": str(server.folder)} for server in (postgres, redis)]
        said = pathlib.Path(__file__).with_name("servers.json")
        said.with_suffix(".new").write_text(json.dumps(found))
        said.with_suffix(".new").rename(said)
        threading.Event().wait()
"""


def is_there(pid: int) -> bool:
    """A zombie is not: whoever inherits it may take their time to bury it."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@contextlib.contextmanager
def an_endless_run(folder: Path, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
    (folder / "test_endless.py").write_text(ENDLESS)
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), *options, str(folder / "test_endless.py")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield run
    finally:
        run.kill()
        run.wait()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("options", "how"),
    [
        pytest.param((), signal.SIGTERM, id="terminated"),
        pytest.param((), signal.SIGINT, id="Ctrl-C"),
        pytest.param(DISTRIBUTED, signal.SIGTERM, id="distributed, terminated"),
        pytest.param(DISTRIBUTED, signal.SIGKILL, id="distributed, killed"),
    ],
)
def test_servers_end_with_the_run_that_started_them(
    tmp_path: Path, options: tuple[str, ...], how: signal.Signals
) -> None:
    said = tmp_path / "servers.json"
    with an_endless_run(tmp_path, *options) as run:
        wait_until(said.exists)
        servers = json.loads(said.read_text())
        assert all(is_there(server["pids"][0]) for server in servers)
        run.send_signal(how)
        wait_until(lambda: not any(is_there(pid) for server in servers for pid in server["pids"]))
        wait_until(lambda: not any(Path(server["folder"]).exists() for server in servers))


@pytest.mark.parametrize("kind", [Postgres, Redis])
def test_a_server_that_is_frozen_ends_too(kind: type[Server], tmp_path: Path) -> None:
    starting = (
        f"from tools.services import {kind.__name__} as Kind; server = Kind(); server.start(); server.freeze();"
        " print(*server.pids(), flush=True); input()"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", starting], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with starter:
        assert starter.stdout is not None
        pids = [int(pid) for pid in starter.stdout.readline().split()]
        # A worker that PostgreSQL began just before it was stopped may have ended since.
        assert is_there(pids[0])
        starter.kill()
    wait_until(lambda: not any(map(is_there, pids)))


def test_a_server_that_was_ended_leaves_nobody_watching() -> None:
    with Redis() as server:
        assert server._watch is not None
        watcher = server._watch._watcher
    assert watcher.returncode == 0
