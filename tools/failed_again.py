"""CI's second look: the few tests that failed beside all the others are run again, one after another, and named.

A test that holds only alone has a defect, or the product has: its name stands in CI's output (`FLAKED`), to be mended.
It does not stop a commit that has nothing to do with it. One that fails again does, and so do more than a few.

Rules of this file
1. Tests only: a proof counts money, so what it saw once is so.
2. Only after a run that came to its end: of one that broke off, nobody knows what would have failed.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dependencies import PROJECT

FEW = 3
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(status: int, project: Path = PROJECT) -> int:
    """`status`: of the run in which they failed."""
    if status != pytest.ExitCode.TESTS_FAILED:
        print(f"The run broke off with {status}: nothing is tried again.")
        return 1
    failed = sorted(json.loads((project / FAILED).read_text())) if (project / FAILED).exists() else []
    if not 0 < len(failed) <= FEW:
        print(f"{len(failed)} tests failed: they are not tried again.")
        return 1
    again = [sys.executable, "-m", "pytest", "--numprocesses=0", "--last-failed", "--last-failed-no-failures=none"]
    if subprocess.run([*again, *failed], cwd=project, check=False).returncode:
        return 1
    for test in failed:
        print(f"FLAKED {test}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
