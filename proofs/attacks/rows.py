"""The rows of the table of attacks: one file of tests each, run as a whole and counted."""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from proofs.rig.project import PROJECT
from proofs.rig.proof import say
from tools.node import clean_environment

ROWS = 22
FOLDER = "tests/attacks"
# Of attacks that are in no row.
BESIDE = 0
# What a report has of a test that passed.
UNHARMED = frozenset({"properties", "system-out", "system-err"})
_ROW = re.compile(r"test_(\d\d)_")


class Rows(msgspec.Struct, frozen=True):
    passed: frozenset[int]
    cases: int
    # Tests that failed, of rows and beside them.
    failed: int
    told: str

    @property
    def missing(self) -> list[int]:
        return sorted(set(range(1, ROWS + 1)) - self.passed)


def run_rows(fuzzed_bodies: int) -> Rows:
    say(f"the tests in {FOLDER}, with {fuzzed_bodies:,} fuzzed bodies")
    with tempfile.TemporaryDirectory(prefix="tollkeeper-attacks-") as folder:
        report = Path(folder) / "report.xml"
        options = ("-q", "-p", "no:cacheprovider", "--numprocesses=2", "--dist=loadfile", f"--junitxml={report}")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", FOLDER, *options],
            cwd=PROJECT,
            env=clean_environment() | {"FUZZED_BODIES": str(fuzzed_bodies)},
            capture_output=True,
            text=True,
            check=False,
        )
        return _counted(report, done.stdout[-3_000:]) if report.exists() else Rows(frozenset(), 0, 1, done.stdout)


def _counted(report: Path, told: str) -> Rows:
    """A row has passed if all of its tests have. A test may say of itself how many cases it tried."""
    outcomes, cases = defaultdict(list), 0
    for test in ElementTree.parse(report).iter("testcase"):  # noqa: S314 (we wrote it ourselves)
        row = _ROW.search(test.get("classname", ""))
        outcomes[int(row[1]) if row else BESIDE].append(all(child.tag in UNHARMED for child in test))
        counted = [int(one.get("value", "0")) for one in test.iter("property") if one.get("name") == "cases"]
        cases += sum(counted) or 1
    passed = frozenset(row for row, passed in outcomes.items() if row != BESIDE and all(passed))
    return Rows(passed, cases, sum(not each for passed in outcomes.values() for each in passed), told)
