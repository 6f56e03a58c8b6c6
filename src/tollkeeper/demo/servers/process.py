"""A server process of our own: started, frozen, thawed, killed, stopped; never anybody else's."""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.servers.orphans import Watch, members, signal_all

# A safety net, not a measure: a busy machine may take long to start anything.
READY_WITHIN_SECONDS = 120.0


# What of a log is shown where its server is not ready in time.
SHOWN_CHARACTERS = 1_500


class ServerDied(CannotRun):
    """The server ended before it was ready; the message carries the end of its log."""


class NotReadyInTime(CannotRun):
    """A part runs, and is not ready after a long time; the message names it, its log and the end of that."""

    def __init__(self, name: str, log: Path, within_seconds: float) -> None:
        told = log.read_text(errors="replace")[-SHOWN_CHARACTERS:] if log.exists() else ""
        said = f"Its log, {log}, ends with:\n{told}" if told.strip() else f"It said nothing ({log})."
        super().__init__(f"{name} was not ready within {within_seconds:g} s: is this machine very busy? {said}")


class Server:
    """One server in a folder of its own."""

    name = "server"
    # What ends it in order.
    ending = signal.SIGTERM
    ready_within_seconds = READY_WITHIN_SECONDS

    def __init__(self, within: Path | None = None) -> None:
        """`within`: the folder for its own; without it, where all temporary files are."""
        self.folder = Path(tempfile.mkdtemp(prefix=f"tollkeeper-{self.name}-", dir=within))
        self.port = free_port()
        self.user = unprivileged_user()
        # Whoever can connect must know it, although nobody else on this machine should.
        self.password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: Watch | None = None
        if self.user is not None:
            shutil.chown(self.folder, self.user)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.push(self)
            self.start()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._watch is not None:
            self._watch.clear_up()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Start, or start again in the same folder on the same port, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.identity(),
            )
        self._watch = Watch(self._process, self.ending, self.folder, after=self._watch)
        try:
            wait_until(self.is_ready, self._check_alive, self.ready_within_seconds)
        except TimeoutError:
            raise NotReadyInTime(self.name, self.folder / "log", self.ready_within_seconds) from None

    def identity(self) -> dict[str, Any]:
        """As whom it runs: another user than root, and in none of root's groups."""
        if self.user is None:
            return {}
        return {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}

    def stop(self) -> None:
        self._end(self.ending)

    def kill(self) -> None:
        """As kill -9 would."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Stop the whole session of processes without ending it: the port accepts, nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self.thaw()
            self._process.send_signal(how)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self._process.wait(20)
        self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            signal_all(self._process.pid, number)

    def pids(self) -> list[int]:
        """The process and its descendants."""
        return [] if self._process is None else members(self._process.pid)

    def _check_alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            log = (self.folder / "log").read_text(errors="replace")
            raise ServerDied(f"{self.name} ended with {self._process.returncode}:\n{log[-2000:]}")


def stop_in_order_when_terminated() -> None:
    """Leave on SIGTERM as on Ctrl-C, so that every server that was started is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root; Debian's package brings a user for it."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def wait_until(
    is_true: Callable[[], bool],
    check: Callable[[], None] = lambda: None,
    within_seconds: float = READY_WITHIN_SECONDS,
) -> None:
    """Ask every 20 ms until it is true; `check` may raise to give up early."""
    deadline = time.monotonic() + within_seconds
    while not is_true():
        check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"not true within {within_seconds:g} s")
        time.sleep(0.02)


async def wait_until_async(
    is_true: Callable[[], Awaitable[bool]], within_seconds: float = READY_WITHIN_SECONDS
) -> None:
    """Wait as `wait_until` does, for what can only be asked asynchronously."""
    deadline = time.monotonic() + within_seconds
    while not await is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not true within {within_seconds:g} s")
        await asyncio.sleep(0.02)
