"""`tollkeeper demo` of an installed wheel, and whether anything of it is left."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from proofs.rig.patience import came_true, patience, wait_until
from tollkeeper.settings import PREFIX
from tools.node import children
from tools.services.process import free_port

# A safety net: how long it takes is measured.
READY_WITHIN_SECONDS = 300
STOPS_WITHIN_SECONDS = 60
READY = "Stop with Ctrl-C."
LISTENING = "0A"


class InstalledDemo:
    """Its files are all in `room`. It knows nothing of the checkout, nor of this process's settings."""

    def __init__(self, programs: Path, room: Path, log: Path) -> None:
        self.programs = programs
        self.port, self.console_port = free_port(), free_port()
        self.environment = {"PATH": os.defpath, "HOME": str(room), "TMPDIR": str(room), "PYTHONUNBUFFERED": "1"}
        self.room = room
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        ports = [f"--port={self.port}", f"--console-port={self.console_port}"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self.programs / "tollkeeper", "demo", *ports],
                cwd=self.room,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_until_ready(self) -> str:
        """What it said."""
        wait_until(lambda: READY in self.said(), self._check, READY_WITHIN_SECONDS)
        return self.said()

    def stop(self) -> int | None:
        """By SIGTERM. The exit code."""
        if self._process is None or self._process.poll() is not None:
            return None if self._process is None else self._process.returncode
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(patience(STOPS_WITHIN_SECONDS))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def said(self) -> str:
        return self._log.read_text()

    def settings(self) -> Mapping[str, str]:
        """From the file that it names."""
        [file] = self.room.glob("tollkeeper-demo-*/settings")
        lines = file.read_text().splitlines()
        pairs = (line.removeprefix("export ").partition("=") for line in lines)
        return {name: value.strip("'") for name, _, value in pairs if name.startswith(PREFIX)}

    def processes(self) -> list[int]:
        """Itself and all that it has started."""
        assert self._process is not None
        found = [self._process.pid]
        for pid in found:
            found += children(pid)
        return found

    def _check(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the demo ended with {self._process.returncode}:\n{self.said()}")


class Traces:
    """What is to be gone when it has ended; taken while it runs."""

    def __init__(self, demo: InstalledDemo) -> None:
        self.pids = demo.processes()
        self._room = demo.room
        stores = (demo.settings()[PREFIX + name].rpartition(":")[2] for name in ("DATABASE_URL", "REDIS_URL"))
        self._ports = {demo.port, demo.console_port, *(int(address.partition("/")[0]) for address in stores)}

    def left_over(self) -> list[str]:
        """What is still there some seconds after its end."""
        came_true(lambda: not self._remains(), within_seconds=5)
        return self._remains()

    def _remains(self) -> list[str]:
        return [
            *(f"process {pid}" for pid in self.pids if _is_there(pid)),
            *(f"port {port}" for port in sorted(self._ports & _listening_ports())),
            *(str(file) for file in self._room.iterdir()),
        ]


def _is_there(pid: int) -> bool:
    """A zombie is not: whoever inherits it may take their time to bury it."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _listening_ports() -> set[int]:
    """Of this machine."""
    tables = [table for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if table.exists()]
    lines = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return {int(fields[1].rpartition(":")[2], 16) for fields in lines if fields[3] == LISTENING}
