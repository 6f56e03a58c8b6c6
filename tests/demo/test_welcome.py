"""What the demo says to paste works in another terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tollkeeper.demo.welcome import own_command

BESIDE = Path(sys.executable).parent


def test_a_command_that_is_not_on_the_path_is_told_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert own_command() == str(BESIDE / "tollkeeper")
    monkeypatch.setenv("PATH", f"{BESIDE}{os.pathsep}/usr/bin")
    assert own_command() == "tollkeeper"


def test_another_installation_on_the_path_is_not_taken_for_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "tollkeeper"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{BESIDE}")
    assert own_command() == str(BESIDE / "tollkeeper")


@pytest.mark.not_quick
def test_a_shell_without_it_on_its_path_can_run_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = subprocess.run(["sh", "-c", f"{own_command()} version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
