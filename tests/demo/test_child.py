"""A part of the demo that does not get ready is named, with its log."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tollkeeper.demo.child import DemoProcess
from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.servers.process import Server

pytestmark = pytest.mark.not_quick


class SleepyServer(Server):
    name = "sleepy"
    ending = signal.SIGKILL
    ready_within_seconds = 0.5

    def command(self) -> Sequence[str]:
        return ["sh", "-c", "echo still thinking; exec sleep 60"]

    def is_ready(self) -> bool:
        # Not before it has spoken, so that there is something to show.
        return False


def test_a_server_that_is_not_ready_in_time_is_named_with_its_log() -> None:
    server = SleepyServer()
    try:
        with pytest.raises(CannotRun, match=r"sleepy was not ready within 0.5 s.*/log"):
            server.start()
    finally:
        server.__exit__()


def test_a_process_that_is_not_ready_in_time_is_named_with_its_log(tmp_path: Path) -> None:
    """Not by a timeout of its own, which the command line would take for a database that does not answer."""
    log = tmp_path / "provider.log"
    slow = DemoProcess("demo", "provider", settings={}, log=log, is_ready=lambda _: False)
    with slow, pytest.raises(CannotRun, match=r"'tollkeeper demo provider' was not ready within 0.2 s") as told:
        slow.wait_until_ready(within_seconds=0.2)
    assert str(log) in str(told.value)
