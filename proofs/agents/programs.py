"""The agents themselves: real programs, each with an empty environment and a home of its own.

A shell starts them with the very lines that the console tells customers to paste. What this proof adds stands behind
the last of them: the task, and that nobody is there to be asked.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from proofs.agents.tasks import AFTER, BEFORE, FILE
from proofs.rig.patience import patience
from proofs.rig.sdks.environments import AGENTS, command
from tollkeeper.console.connect import CLIENTS, snippet

SECONDS_MOST = 60
TYPED = {"claude-code": "claude", "codex": "codex"}
ALONE: Mapping[str, Sequence[str]] = {
    "claude-code": ("--allowedTools", "Read,Edit", "--print"),
    # The folder is of this proof alone, and a sandbox needs rights that not every machine gives.
    "codex": ("exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"),
}
# Claude Code asks nobody but the gateway.
QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


class Outcome(msgspec.Struct, frozen=True):
    """What became of a task."""

    status: int
    said: str
    file: str

    @property
    def is_done(self) -> bool:
        return self.status == 0 and self.file == AFTER


class Desk(msgspec.Struct, frozen=True):
    """Where an agent works: its home, and the folder with the file."""

    home: Path
    folder: Path


def a_desk(place: Path) -> Desk:
    desk = Desk(place / "home", place / "work")
    desk.home.mkdir(parents=True)
    desk.folder.mkdir()
    (desk.folder / FILE).write_text(BEFORE)
    return desk


def do(agent: str, desk: Desk, base: str, key: str, model: str, task: str) -> Outcome:
    """Let an agent do a task with two settings: the address and the key."""
    pasted = snippet(CLIENTS[agent], base, model).replace("YOUR_KEY", key)
    done = subprocess.run(
        ["sh", "-c", f"{pasted} {shlex.join([*ALONE[agent], task])}"],
        env={"PATH": f"{_programs(desk)}:{os.defpath}", "HOME": str(desk.home), **QUIET},
        cwd=desk.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience(SECONDS_MOST),
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr, (desk.folder / FILE).read_text())


def _programs(desk: Desk) -> Path:
    """A folder with the agents by the names that people type."""
    folder = desk.home / "bin"
    folder.mkdir()
    for agent, name in TYPED.items():
        (folder / name).symlink_to(command(AGENTS[agent])[0])
    return folder
