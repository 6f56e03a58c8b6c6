"""A clock that is moved for one process, while it runs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.moved_clock import MovedClock, library
from tools.node import clean_environment

pytestmark = pytest.mark.not_quick

DAY_SECONDS = 86_400
# Says the time, and seconds since the machine started, once for each line that it reads.
SAYS_THE_TIME = """
import sys, time
for _ in sys.stdin:
    print(time.time(), time.monotonic(), flush=True)
"""


def test_a_process_sees_its_clock_jump_and_its_seconds_go_on(tmp_path: Path) -> None:
    try:
        library()
    except RuntimeError as problem:
        pytest.skip(str(problem))
    clock = MovedClock(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", SAYS_THE_TIME],
        env=clean_environment() | clock.settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for days in (0, 1, -1):
            clock.set(days * DAY_SECONDS)
            process.stdin.write("\n")
            process.stdin.flush()
            told, monotonic = map(float, process.stdout.readline().split())
            assert told - time.time() == pytest.approx(days * DAY_SECONDS, abs=30)
            assert monotonic == pytest.approx(time.monotonic(), abs=30)
        process.stdin.close()
