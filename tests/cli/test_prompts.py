"""Commands that ask a person at a terminal for a secret."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Stores, variables
from tools.node import clean_environment
from tools.services.process import wait_until


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores)


def is_waiting(pid: int) -> bool:
    """Whether it is within a system call that waits for something: after its prompt, for whoever types."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["provider", "add", "first", "https://api.example/v1"], b"Provider key: "),
        (["partner", "withdraw", "1", "10", "--payee", "Ada"], b"Code of the second factor: "),
        (["redeem", "1"], b"Code: "),
        (["login", "open", "ada@people.example"], b"Password: "),
        (["login", "verify"], b"Token: "),
        (["login", "sign-in", "ada@people.example"], b"Password: "),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_ctrl_c_ends_a_prompt_at_once(own: dict[str, str], arguments: list[str], asked: bytes) -> None:
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "tollkeeper", *arguments],
        env=clean_environment() | own,
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        start_new_session=True,
    ) as asking:
        try:
            shown = b""
            while asked not in shown:
                shown += os.read(terminal, 1_000)
            # Shortly before the system call, Python would notice the signal only after it.
            wait_until(lambda: is_waiting(asking.pid))
            asking.send_signal(signal.SIGINT)
            assert asking.wait(30) == 130, shown
        finally:
            asking.kill()
            os.close(its_end)
            os.close(terminal)
