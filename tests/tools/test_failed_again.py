"""CI's second look forgives a test that holds alone, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import failed_again

pytestmark = pytest.mark.not_quick

# Holds from its second run on, as a test does that the others disturbed.
DISTURBED = """
from pathlib import Path

def test_disturbed():
    mark = Path("mark")
    was_there = mark.exists()
    mark.touch()
    assert was_there
"""
BROKEN = "def test_broken(): assert False"


def first_look(project: Path, **files: str) -> int:
    for name, text in files.items():
        (project / f"test_{name}.py").write_text(text)
    tests = [sys.executable, "-m", "pytest", "--quiet", f"--rootdir={project}", "-c", "/dev/null"]
    return subprocess.run(tests, cwd=project, capture_output=True, check=False).returncode


def test_what_holds_alone_is_named_and_forgiven(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert first_look(tmp_path, disturbed=DISTURBED) == 1
    assert failed_again.main(1, tmp_path) == 0
    assert "FLAKED test_disturbed.py::test_disturbed" in capfd.readouterr().out


def test_what_fails_again_stays_failed(tmp_path: Path) -> None:
    assert first_look(tmp_path, disturbed=DISTURBED, broken=BROKEN) == 1
    assert failed_again.main(1, tmp_path) == 1


def test_what_failed_before_any_test_is_not_forgiven(tmp_path: Path) -> None:
    assert failed_again.main(1, tmp_path) == 1


def test_a_run_that_broke_off_is_not_forgiven(tmp_path: Path) -> None:
    assert first_look(tmp_path, disturbed=DISTURBED) == 1
    assert failed_again.main(3, tmp_path) == 1


def test_many_are_not_tried_again(tmp_path: Path) -> None:
    failed = tmp_path / failed_again.FAILED
    failed.parent.mkdir(parents=True)
    failed.write_text(json.dumps({f"test_{number}.py::test": True for number in range(failed_again.FEW + 1)}))
    assert failed_again.main(1, tmp_path) == 1
