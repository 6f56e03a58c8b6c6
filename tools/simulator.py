"""The demo provider as a real process, for tests and proofs: what it was asked to do, and its truth about it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

from tollkeeper.demo.servers.orphans import Watch
from tools.node import clean_environment
from tools.services.process import wait_until

READY = "demo provider listens on "
TruthRow = dict[str, Any]


class Simulator:
    """One `tollkeeper demo provider`, from start to stop.

    Options are as on its command line: `key=`, `delay_ms=`, …; one that is only there or not has the value True.
    """

    def __init__(self, **options: object) -> None:
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="tollkeeper-simulator-"))
        self.truth_file = self.folder / "truth.jsonl"
        self.log = self.folder / "log"
        self.base = ""
        self.port = int(str(options.get("port") or 0))
        self.process: subprocess.Popen[bytes] | None = None
        self._watch: Watch | None = None
        self._rows: list[TruthRow] = []
        self._read_bytes = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._watch is not None:
            self._watch.clear_up()

    def start(self) -> None:
        """Start, or start again on the same port; the truth goes on in the same file."""
        given = {"port": self.port, "truth": self.truth_file} | self.options | {"port": self.port}
        arguments = [_argument(name, value) for name, value in given.items()]
        self.log.write_text("")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tollkeeper", "demo", "provider", *arguments],
                env=clean_environment() | {"PYTHONUNBUFFERED": "1"},
                stdout=log,
                stderr=log,
            )
        self._watch = Watch(self.process, signal.SIGTERM, self.folder, after=self._watch)
        wait_until(lambda: READY in self.log.read_text() and self.log.read_text().endswith("\n"), self._check_alive)
        self.base = self.log.read_text().partition(READY)[2].split()[0]
        self.port = int(self.base.rpartition(":")[2].partition("/")[0])

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As kill -9 would; lines of the last 20 ms may be lost with it."""
        self._end(signal.SIGKILL)

    def truth(self) -> list[TruthRow]:
        """Every call that is over, in the order in which they ended."""
        if self.truth_file.exists():
            with self.truth_file.open("rb") as file:
                file.seek(self._read_bytes)
                # What has no line end yet is not a line yet, nor is its other half, should that come while we read.
                lines = list(takewhile(lambda line: line.endswith(b"\n"), file))
            self._read_bytes += sum(map(len, lines))
            self._rows += map(json.loads, lines)
        return list(self._rows)

    def wait_for(self, request_id: str, within_seconds: float = 10) -> TruthRow:
        """The (last) line of this request, once it is there."""
        found = self._wait_until(lambda rows: any(row["request_id"] == request_id for row in rows), within_seconds)
        return next(row for row in reversed(found) if row["request_id"] == request_id)

    def wait_for_lines(self, count: int, within_seconds: float = 30) -> list[TruthRow]:
        """The truth, once it has at least this many lines."""
        return self._wait_until(lambda rows: len(rows) >= count, within_seconds)

    def _wait_until(self, is_there: Callable[[list[TruthRow]], bool], within_seconds: float) -> list[TruthRow]:
        wait_until(lambda: is_there(self.truth()), self._check_alive, within_seconds)
        return self.truth()

    def storm(self, weather: str) -> None:
        """Change `--storm` while it runs; an empty text ends it. One worker only: the others would not hear of it."""
        assert self.options.get("workers", 1) == 1
        address = self.base.removesuffix("/v1") + "/demo/storm"
        with urllib.request.urlopen(urllib.request.Request(address, weather.encode(), method="PUT"), timeout=5):
            return

    def cpu_seconds(self) -> float:
        """User and system time of the process so far (of one worker)."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _check_alive(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"the simulator ended with {self.process.returncode}:\n{self.log.read_text()[-2000:]}")


def _argument(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option}={value}"
