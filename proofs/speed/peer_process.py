"""The process of another gateway: started, warmed up, stopped."""

import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from proofs.rig.measuring.measured_orders import whole
from proofs.rig.measuring.processes import require_alone
from proofs.rig.patience import wait_until
from proofs.speed.contestants import Subject

WARM_CALLS = 100
WARM_WITHIN_SECONDS = 120.0


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str], port: int, *, lives_at: str) -> Iterator[int]:
    """Its process id, from when it answers at that path until it is stopped."""
    with tempfile.TemporaryDirectory(prefix="tollkeeper-peer-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, cwd=folder)
        try:
            wait_until(lambda: lives(port, lives_at), lambda: check_alive(process, log))
            require_alone(port, process.pid)
            yield process.pid
        finally:
            stop(process)


def lives(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def warm_up(subject: Subject, key: str) -> None:
    """Much of it is loaded by the first calls that need it, which is no part of what a call costs. Only whole answers
    are measured of it."""
    order = whole()
    for _ in range(WARM_CALLS):
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}", **subject.headers}
        url = f"http://127.0.0.1:{subject.port}/v1/chat/completions"
        asked = urllib.request.Request(url, order.body.encode(), headers)
        with urllib.request.urlopen(asked, timeout=WARM_WITHIN_SECONDS) as answer:
            answer.read()


def check_alive(process: subprocess.Popen[bytes], log: Path) -> None:
    if process.poll() is not None:
        raise RuntimeError(f"It ended with {process.returncode}:\n{log.read_text(errors='replace')[-2000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
