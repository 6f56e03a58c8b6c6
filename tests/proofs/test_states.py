"""States to compare with: what names one, and what becomes of its files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.speed.states import PRESENT, checked_out, commit_of, own_path, required_code
from tools.node import clean_environment

pytestmark = pytest.mark.not_quick


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a single commit, in the place of this one: a release may come without its history."""
    folder = tmp_path / "repository"
    (folder / "src" / "tollkeeper").mkdir(parents=True)
    (folder / "src" / "tollkeeper" / "__init__.py").write_text("")
    (folder / "src" / "tollkeeper" / "__main__.py").write_text("input()\n")
    author = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    for arguments in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "A state"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    monkeypatch.setattr("proofs.speed.states.PRESENT", folder)
    return folder


def test_a_revision_names_a_commit(repository: Path) -> None:
    assert commit_of("HEAD") == commit_of("HEAD~0")
    assert len(commit_of("HEAD") or "") == 40


@pytest.mark.parametrize("revision", ["no-such-branch", "HEAD~1", "HEAD:src", "--all", ""])
def test_what_names_no_commit_is_told_apart(repository: Path, revision: str) -> None:
    assert commit_of(revision) is None


def test_a_state_is_gone_afterwards_and_leaves_nothing_in_the_repository(repository: Path) -> None:
    (repository / "src" / "tollkeeper" / "__init__.py").write_text("changed = True\n")
    with checked_out("HEAD") as root:
        assert (root / "src" / "tollkeeper" / "__init__.py").read_text() == ""
    assert not root.parent.exists()
    listed = subprocess.run(["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True)
    assert len(listed.stdout.splitlines()) == 1


def test_a_process_that_runs_the_code_of_another_state_is_found_out(repository: Path) -> None:
    with checked_out("HEAD") as root:
        process = subprocess.Popen(
            # It stays until it is ended: of one that is over, nothing can be read.
            [sys.executable, "-c", "input('it runs\\n')"],
            env=clean_environment() | own_path(root / "src"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            # Before that, the system does not know its environment yet.
            assert process.stdout is not None
            process.stdout.readline()
            assert Path(required_code(process.pid, root)).is_relative_to(root)
            with pytest.raises(AssertionError, match="not the code in"):
                required_code(process.pid, PRESENT)
        finally:
            process.kill()
            process.communicate()
    assert os.fspath(PRESENT) not in os.fspath(root)
