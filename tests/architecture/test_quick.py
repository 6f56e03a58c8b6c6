"""`pytest --quick` runs nothing that needs a store or a process, and lets no test start one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import UNREAD

ROOT = Path(__file__).parents[2]
PLANTED = Path(__file__).with_name("planted_quick.py")


@pytest.mark.not_quick
def test_a_quick_run_starts_no_process_and_reaches_no_store() -> None:
    with socket.create_server(("127.0.0.1", 0)) as store:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "--quick", "-rA", "-p", "no:cacheprovider", str(PLANTED)],
            env=os.environ
            | {"DATABASE_URL": f"postgresql://127.0.0.1:{store.getsockname()[1]}/postgres", "COLUMNS": "200"},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    told = [line.partition(" - ") for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    outcomes = {what.rpartition("::")[2]: (what.split()[0], why.partition(":")[0]) for what, _, why in told}
    not_quick = ("FAILED", "tests.quick.NotQuick")
    assert outcomes == {
        "test_that_needs_nothing": ("PASSED", ""),
        "test_that_runs_a_command": not_quick,
        "test_that_runs_a_command_asynchronously": not_quick,
        "test_that_forks": not_quick,
        "test_that_spawns": not_quick,
        "test_that_connects_to_a_store": not_quick,
    }
    assert "2 deselected" in run.stdout


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_left_unread_is_there(name: str) -> None:
    assert (ROOT / "tests" / name).exists()
