"""What the command line loads, counted in processes of its own."""

import subprocess
import sys

import pytest

from tools.node import clean_environment

pytestmark = pytest.mark.not_quick

MODULES_MOST = 200
HEAVY = {"aiohttp", "asyncpg", "granian", "msgspec", "redis", "sqlalchemy", "tollkeeper.app", "tollkeeper.demo"}
RUN = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from tollkeeper.__main__ import main
main()
"""


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.split())


def test_saying_the_version_loads_little() -> None:
    assert len(loaded_by("version")) <= MODULES_MOST


@pytest.mark.parametrize("asked", ["version", "--version", "--help", "-h"])
def test_what_only_some_commands_need_is_not_loaded_for(asked: str) -> None:
    loaded = loaded_by(asked)
    assert "tollkeeper.cli" in loaded
    assert not HEAVY & loaded


def test_a_family_loads_no_other() -> None:
    loaded = loaded_by("demo", "--help")
    assert "tollkeeper.demo" in loaded
    assert not {"tollkeeper.app", "tollkeeper.cli.providers"} & loaded
