"""A real small model as a real process, for tests, proofs and the demo."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

from tools.node import clean_environment
from tools.services.process import wait_until

BETWEEN = " listens on "


class RealModel:
    """One `tollkeeper demo model`, from start to stop. `base` is its address, `model` the id it answers to."""

    def __init__(self) -> None:
        self.base = ""
        self.model = ""
        self._folder = tempfile.TemporaryDirectory(prefix="tollkeeper-model-")
        self._log = Path(self._folder.name) / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def start(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tollkeeper", "demo", "model"],
                env=clean_environment() | {"COLUMNS": "200"},
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: self._log.read_text().endswith("\n"), self._check_alive)
        announced, _, self.base = self._log.read_text().strip().partition(BETWEEN)
        self.model = announced.split()[-1]

    def stop(self) -> int | None:
        """The exit code."""
        if self._process is None:
            return None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _check_alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the model ended with {self._process.returncode}:\n{self._log.read_text()[-2000:]}")
