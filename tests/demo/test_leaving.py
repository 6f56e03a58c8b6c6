"""Whoever asks the demo to end is heard, wherever the signal strikes."""

import signal
import subprocess
import sys

import pytest

from tollkeeper.demo.leaving import STOPPED

# Python drops what rises in a finalizer, and says so.
STRUCK_WHILE_DISPOSING = """
import signal, time
from tollkeeper.demo.leaving import ignore_signals, left_in_order

class Disposed:
    def __del__(self):
        signal.raise_signal(signal.{signal})

with left_in_order(print):
    try:
        held = Disposed()
        del held
        print("went on", flush=True)
        time.sleep(60)
        print("was not heard")
    finally:
        ignore_signals()
"""

OTHER_MISHAP = """
from tollkeeper.demo.leaving import left_in_order

class Disposed:
    def __del__(self):
        raise ValueError("of no account")

with left_in_order(print):
    held = Disposed()
    del held
    print("went on")
"""


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.not_quick
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_whose_exception_python_drops_is_made_good(number: signal.Signals, status: int) -> None:
    done = ended(STRUCK_WHILE_DISPOSING.format(signal=number.name))
    assert (done.returncode, done.stdout.splitlines()) == (status, ["went on", STOPPED])


@pytest.mark.not_quick
def test_what_else_is_dropped_is_told_as_ever() -> None:
    done = ended(OTHER_MISHAP)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "ValueError: of no account" in done.stderr
