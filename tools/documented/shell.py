"""One session for each page: what a block exports and writes, the next one finds.

Rules of this file
1. Only the programs that are named here can be reached, so that no page can touch the machine.
2. Whatever answers with an error fails its block: `curl` by its status, too.
3. Commands that stay (`tollkeeper serve`) are left running once they are ready, until the page is done.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tools.documented.blocks import Block
from tools.documented.scene import PROVIDER_KEY, Scene
from tools.documented.staying import STAYING
from tools.node import clean_environment
from tools.services.process import free_port

ROOT = Path(__file__).parents[2]
PROGRAMS = (
    "bash",
    "cat",
    "cp",
    "date",
    "df",
    "dirname",
    "env",
    "grep",
    "head",
    "jq",
    "ls",
    "mkdir",
    "openssl",
    "sed",
    "tail",
    "tee",
    "uptime",
)
# Programs that need others in turn.
WRAPPED = ("pg_basebackup", "pg_dump", "promtool", "psql", "redis-cli")
# A safety net, not a measure.
SECONDS_MOST = 600
KEEP = "export -p | sed '/^declare -x TOLLKEEPER_/d'"
# Each command is typed a secret, should it ask for one; what is piped into it stays.
TYPED = f"{PROVIDER_KEY}\n"


# How a script of each language is run.
RUN_BY = {
    "sh": "source {}",
    "python": "python {}",
    "sql": 'psql --quiet --set=ON_ERROR_STOP=1 --file={} "$TOLLKEEPER_DATABASE_URL"',
}


class Outcome(msgspec.Struct, frozen=True):
    block: Block
    # What went wrong.
    problem: str | None = None


def run_page(blocks: Sequence[Block], scene: Scene) -> Iterator[Outcome]:
    """Run the blocks of one page in their order, but for those that are not to be run."""
    with tempfile.TemporaryDirectory(prefix="tollkeeper-documented-") as folder:
        session = _Session(Path(folder), scene)
        scene.begin(blocks[0].page)
        try:
            for block in blocks:
                if block.reason is None and block.run_by is None:
                    yield Outcome(block, session.run(block))
        finally:
            session.end()


def _own_ports() -> dict[str, str]:
    return {name: str(free_port()) for name in ("TOLLKEEPER_PORT", "TOLLKEEPER_CONSOLE_PORT")}


class _Session:
    def __init__(self, room: Path, scene: Scene) -> None:
        self._room = room
        self._scene = scene
        self._state = room / "state"
        self._state.write_text("")
        # What a reader has at hand: the project's folder for those who deploy, and a provider's new key.
        shutil.copytree(ROOT / "deploy", room / "work" / "deploy")
        (room / "work" / "new-key").write_text(TYPED)
        self._bin = room / "bin"
        self._bin.mkdir()
        self._staying = room / "staying"
        for name in PROGRAMS:
            if found := shutil.which(name):
                (self._bin / name).symlink_to(found)
        for name in WRAPPED:
            if found := shutil.which(name):
                self._program(name, f"exec {found}")
        python = sys.executable
        self._program("curl", f"exec {shutil.which('curl')} --silent --show-error --fail-with-body")
        self._program("python", f"exec {python}")
        stays = (
            f'case "$1" in {"|".join(STAYING)}) exec {python} -m tools.documented.staying {self._staying} "$@";; esac'
        )
        typed = room / "typed"
        typed.write_text(TYPED)
        self._program("tollkeeper", f"{stays}\n[ -p /dev/stdin ] || exec < {typed}\nexec {python} -m tollkeeper")

    def run(self, block: Block) -> str | None:
        """What went wrong, if anything."""
        text = self._scene.filled(block.text)
        script = self._room / f"block.{block.language}"
        script.write_text(text, "utf-8")
        # Its last act tells the next block what was exported; settings are the deployment's.
        run = RUN_BY[block.language].format(script)
        lines = f"set -euo pipefail\nsource {self._state}\ncd {self._room}/work\n{run}\n{KEEP} > {self._state}\n"
        done = subprocess.run(
            [self._bin / "bash", "-c", lines],
            env=self._environment(block),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MOST,
            check=False,
        )
        if done.returncode == 0:
            return None
        told = (done.stdout + done.stderr).strip()[-1500:]
        return f"{block.place}: ended with {done.returncode}\n{text}\n{told}"

    def end(self) -> None:
        """End what stays. Raise where it did not stay."""
        ended = []
        for log in self._staying.glob("*"):
            try:
                os.kill(int(log.name), signal.SIGTERM)
            except ProcessLookupError:
                ended.append(log.read_text())
        if ended:
            raise RuntimeError(f"a command that should stay has ended:\n{ended[0]}")

    def _environment(self, block: Block) -> dict[str, str]:
        kept = {name: value for name, value in clean_environment().items() if name in {"LANG", "LC_ALL", "TMPDIR"}}
        # Ports are drawn when they are needed: others take what was free minutes ago.
        settings = self._scene.empty | _own_ports() if block.on_empty else self._scene.settings
        own = {"PATH": str(self._bin), "HOME": str(self._room), "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
        return kept | dict(settings) | own

    def _program(self, name: str, command: str) -> None:
        # What it runs may need more than a page does.
        path = shlex.quote(os.environ["PATH"])
        (self._bin / name).write_text(f'#!/bin/sh\nexport PATH={path}\n{command} "$@"\n')
        (self._bin / name).chmod(0o755)
