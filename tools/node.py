"""A gateway node as a real process, for tests, proofs and the demo."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from tollkeeper.demo import environment
from tollkeeper.demo.environment import clean_environment
from tollkeeper.demo.servers.orphans import Watch
from tools.services.process import free_port, wait_until

# Those of others that are imported from here.
__all__ = ["Node", "children", "clean_environment", "command", "fresh_secrets", "jobs", "own_deployment", "tollkeeper"]


def fresh_secrets() -> dict[str, str]:
    """Settings that no other deployment has."""
    # What its processes occupy is read from outside, by the same user.
    return environment.fresh_secrets() | {"TOLLKEEPER_INSPECTABLE": "true"}


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


def command(settings: Mapping[str, str], *arguments: str, stdin: str = "") -> str:
    """What one command of the product says. Raise SystemExit with its words where it fails."""
    done = tollkeeper(settings, *arguments, stdin=stdin)
    if done.returncode:
        raise SystemExit(f"tollkeeper {' '.join(arguments)}: {done.stderr}")
    return done.stdout


@contextlib.contextmanager
def jobs(settings: Mapping[str, str], node: "Node") -> Iterator[None]:
    """`tollkeeper work` beside the node."""
    with node.log.open("ab") as log:
        working = subprocess.Popen(
            [sys.executable, "-m", "tollkeeper", "work"], env=clean_environment() | dict(settings), stderr=log
        )
    # It has no files of its own.
    watch = Watch(working, signal.SIGTERM, node.log.with_suffix(".work"))
    try:
        yield
    finally:
        watch.clear_up()
        working.wait()


class Node:
    """One `tollkeeper serve`, from start to stop."""

    command = "serve"
    # What Python runs, before the command.
    program: tuple[str, ...] = ("-m", "tollkeeper")

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.port = int(settings.get("TOLLKEEPER_PORT") or free_port())
        # No balancer has to notice that it stops, unless a test is about that.
        at_once = {"TOLLKEEPER_LAME_DUCK_SECONDS": "0"}
        self.settings = at_once | dict(settings) | {"TOLLKEEPER_PORT": str(self.port)}
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
        if self._watch is not None:
            self._watch.clear_up()

    def start(self, *, until_ready: bool = True) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, self.command],
                env=clean_environment() | self.settings,
                stdout=log,
                stderr=log,
            )
        self._watch = Watch(self.process, signal.SIGTERM, self.log, after=self._watch)
        wait_until(lambda: self.status("/readyz" if until_ready else "/livez") == 200, self.check_alive)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Without a word, and everything it began: workers outlive a main process that is killed alone."""
        if self.process is not None and self.process.poll() is None:
            # So that it begins no others meanwhile.
            self.process.send_signal(signal.SIGSTOP)
            for child in children(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            self.process.kill()
            self.process.wait()

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
        return self._memory_bytes("Pss:")

    def own_memory_bytes(self) -> int:
        """Of that what is in no file: pages of libraries count less the more processes there are that map them."""
        return self._memory_bytes("Pss_Anon:")

    def _memory_bytes(self, row: str) -> int:
        assert self.process is not None
        return sum(_memory_bytes(pid, row) for pid in [self.process.pid, *children(self.process.pid)])

    def workers(self) -> list[int]:
        """The processes that serve, by process id."""
        assert self.process is not None
        return [pid for pid in children(self.process.pid) if _serves(pid)]

    def check_alive(self) -> None:
        """Raise with the end of its log where it has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"the node ended with {self.process.returncode}:\n{self.log.read_text()[-2000:]}")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _serves(pid: int) -> bool:
    """Whether it is alive, and not the child that looks after shared memory."""
    try:
        started_as = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False
    return bool(started_as) and b"resource_tracker" not in started_as


def _memory_bytes(pid: int, row: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(row):
            return int(line.split()[1]) * 1024
    return 0
