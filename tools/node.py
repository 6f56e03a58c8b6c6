"""A gateway node as a real process, for tests, proofs and the demo."""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tools.services.orphans import Watch
from tools.services.process import free_port, wait_until


def fresh_secrets() -> dict[str, str]:
    """Settings that no other deployment has."""
    return {
        "TOLLKEEPER_PEPPERS": "1:" + base64.b64encode(os.urandom(32)).decode(),
        "TOLLKEEPER_ENVELOPE_KEYS": "1:" + base64.b64encode(os.urandom(32)).decode(),
        # What its processes occupy is read from outside, by the same user.
        "TOLLKEEPER_INSPECTABLE": "true",
        # Their providers are on this machine.
        "TOLLKEEPER_PRIVATE_PROVIDERS": "true",
    }


def own_deployment() -> dict[str, str]:
    """Settings for a deployment that nobody else shares."""
    return fresh_secrets() | {
        # All its callers have one IP, and many of their calls are invalid on purpose.
        "TOLLKEEPER_INVALID_CALLS": "1000000",
        # A busy machine is not a database that is away.
        "TOLLKEEPER_STORE_PATIENCE_SECONDS": "20",
    }


# The books of ten million calls take a while.
COMMAND_SECONDS = 900


def tollkeeper(settings: Mapping[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run one command of the product, as an operator would."""
    return subprocess.run(
        [sys.executable, "-m", "tollkeeper", *arguments],
        env=clean_environment() | dict(settings) | {"COLUMNS": "200"},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


def clean_environment() -> dict[str, str]:
    """This process's environment without any setting of Tollkeeper's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOLLKEEPER_")}


class Node:
    """One `tollkeeper serve`, from start to stop."""

    command = "serve"

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.port = int(settings.get("TOLLKEEPER_PORT") or free_port())
        self.settings = dict(settings) | {"TOLLKEEPER_PORT": str(self.port)}
        self.base = f"http://127.0.0.1:{self.port}"
        descriptor, path = tempfile.mkstemp(prefix="tollkeeper-node-")
        os.close(descriptor)
        self.log = Path(path)
        self.process: subprocess.Popen[bytes] | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.log.unlink(missing_ok=True)

    def start(self, *, until_ready: bool = True) -> None:
        self._end_watch()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tollkeeper", self.command],
                env=clean_environment() | self.settings,
                stdout=log,
                stderr=log,
            )
        self._watch = Watch(self.process, signal.SIGTERM, self.log)
        wait_until(lambda: self.status("/readyz" if until_ready else "/livez") == 200, self._check_alive)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._end_watch()

    def status(self, path: str, headers: Mapping[str, str] | None = None) -> int:
        """The status that a GET gets; 0 where nobody answers."""
        request = urllib.request.Request(self.base + path, headers=dict(headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                status: int = answer.status
                return status
        except urllib.error.HTTPError as problem:
            with problem:
                return problem.code
        except OSError:
            return 0

    def call_lines(self) -> list[dict[str, object]]:
        """The call log so far."""
        lines = (json.loads(line) for line in self.log.read_text().splitlines())
        return [line for line in lines if "request_id" in line]

    def memory_bytes(self) -> int:
        """What this node's processes occupy together, shared pages counted once (PSS)."""
        assert self.process is not None
        pids = [self.process.pid, *children(self.process.pid)]
        return sum(_pss_bytes(pid) for pid in pids)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _check_alive(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"the node ended with {self.process.returncode}:\n{self.log.read_text()[-2000:]}")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _pss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
