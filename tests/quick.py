"""`pytest --quick`: the tests that need no store and no process, for use while one writes.

Rules of this file
1. What needs a store, a node or a simulator through a fixture is found by its fixtures.
2. What starts a process by itself, or takes longer than about a second, carries `@pytest.mark.not_quick`.
3. A test that gets past both fails: in a quick run no test can start a process or reach a store.
4. A property is tried with a few examples only.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import is_hypothesis_test, settings

# Every fixture that starts a process; those that use them are found through them.
STARTING = frozenset({"stores", "sim", "locked_sim", "hostile_sim", "bans"})
# The whole service in every one of their tests, or the clients of vendors, which take seconds to import.
UNREAD = (
    "journeys",
    "attacks",
    "simulator/test_anthropic.py",
    "simulator/test_gemini.py",
    "simulator/media/test_faults.py",
    "storage/usage/test_cleaning.py",
)
EXAMPLES_MOST = 20
# Where Hypothesis keeps what `@settings` says.
SETTINGS = "_hypothesis_internal_use_settings"
STARTS_A_PROCESS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})


class NotQuick(RuntimeError):
    """A test of a quick run starts a process or connects to a store. It needs `@pytest.mark.not_quick`."""


class Quick:
    def __init__(self) -> None:
        self._in_test = False
        self._stores = {_place_of(os.environ[name]) for name in ("DATABASE_URL", "REDIS_URL") if name in os.environ}
        # Audit hooks cannot be removed: this process has one purpose.
        sys.addaudithook(self._look)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        tests = Path(__file__).parent
        return True if any(collection_path == tests / name for name in UNREAD) else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if not is_quick(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_quick(item)]
        for item in items:
            _try_few_examples(getattr(item, "obj", None))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._in_test = True
        try:
            return (yield)
        finally:
            self._in_test = False

    def _look(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._in_test:
            return
        if event in STARTS_A_PROCESS:
            raise NotQuick(f"{event} of {arguments[0] if arguments else 'this process'}")
        if event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][:2] in self._stores:
            raise NotQuick(f"a connection to the store at {arguments[1]}")


def is_quick(item: pytest.Item) -> bool:
    needed = set(getattr(item, "fixturenames", ()))
    return not needed & STARTING and item.get_closest_marker("not_quick") is None


def _try_few_examples(test: object) -> None:
    """Profiles of Hypothesis do not change what a test says of itself."""
    if is_hypothesis_test(test):
        own = getattr(test, SETTINGS, None) or settings()
        setattr(test, SETTINGS, settings(own, max_examples=min(own.max_examples, EXAMPLES_MOST)))


def _place_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 0
