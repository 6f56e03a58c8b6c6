"""One `tollkeeper …` process of the demo, from start to stop."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self

from tollkeeper.demo.environment import clean_environment
from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.servers.orphans import Watch
from tollkeeper.demo.servers.process import READY_WITHIN_SECONDS, NotReadyInTime, wait_until

ENDS_WITHIN_SECONDS = 40
# What of a log is shown where its process has ended.
SHOWN_CHARACTERS = 1_500


class DemoProcess:
    """`settings` are all that it is told, `log` gets all that it says; `is_ready` judges by what it has said so far."""

    def __init__(
        self, *arguments: str, settings: Mapping[str, str], log: Path, is_ready: Callable[[str], bool]
    ) -> None:
        self.name = f"tollkeeper {' '.join(arguments[:2])}"
        self._arguments = arguments
        self._settings = settings
        self._log = log
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> Self:
        """Start it; it need not be ready yet."""
        with ExitStack() as stack:
            stack.push(self)
            self._start()
            stack.pop_all()
        return self

    def _start(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                # Whatever lies in the folder that the demo was started in is not imported.
                [sys.executable, "-P", "-m", "tollkeeper", *self._arguments],
                env=clean_environment() | {"PYTHONUNBUFFERED": "1", "COLUMNS": "200"} | dict(self._settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the demo, which stops them in order.
                start_new_session=True,
            )
        self._watch = Watch(self._process, signal.SIGTERM, self._log)

    def __exit__(self, *_: object) -> None:
        self.ask_to_end()
        if self._process is not None:
            try:
                self._process.wait(ENDS_WITHIN_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._watch is not None:
            self._watch.clear_up()

    def ask_to_end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait_until_ready(self, within_seconds: float = READY_WITHIN_SECONDS) -> str:
        """What it has said by then. Raise CannotRun where it ends instead, or takes too long."""
        try:
            wait_until(lambda: self._is_ready(self.said()), self.check, within_seconds)
        except TimeoutError:
            raise NotReadyInTime(f"'{self.name}'", self._log, within_seconds) from None
        self.check()
        return self.said()

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def check(self) -> None:
        """Raise CannotRun if it has ended."""
        if self._process is not None and (status := self._process.poll()) is not None:
            raise CannotRun(f"'{self.name}' ended with {status}. It said:\n{self.said()[-SHOWN_CHARACTERS:]}")

    def descriptor(self) -> int:
        """Readable once it has ended; to be closed by whoever asks for it."""
        if self._process is None:
            raise CannotRun(f"'{self.name}' was never started.")
        return os.pidfd_open(self._process.pid)


def is_answered(port: int, path: str) -> bool:
    """Whether a GET on this machine gets 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
