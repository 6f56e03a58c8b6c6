"""A campaign: every target for so many seconds, two at a time, each search and each timing in a process of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tools.fuzz.findings import Found, Searched, Timed

AT_ONCE = 2
# Of a target's time, how much goes to grown inputs.
TIMING_SHARE = 0.25
# Processes begin, recipes and suspects are measured, and the machine may be busy.
GRACE_SECONDS = 240


class Outcome(msgspec.Struct, frozen=True):
    """What came of one target."""

    name: str
    executions: int
    crashes: list[Found]
    slow: list[Found]
    slowest_cpu_ms: float
    slowest: str

    @property
    def holds(self) -> bool:
        return not (self.crashes or self.slow)

    @property
    def only_slow(self) -> bool:
        """What was found depends on how quick the machine is."""
        return not self.crashes


def campaign(names: Sequence[str], seconds: float, seed: int, *, blindly: bool = False) -> list[Outcome]:
    """Inputs that show something are left in a folder of the system's for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    with ThreadPoolExecutor(AT_ONCE) as hands:
        outcomes = list(hands.map(lambda name: _one(name, folder / name, seconds, seed, blindly), names))
    if all(outcome.holds for outcome in outcomes):
        shutil.rmtree(folder)
    return outcomes


def _one(name: str, folder: Path, seconds: float, seed: int, blindly: bool) -> Outcome:
    folder.mkdir(parents=True)
    more = ("--blindly",) if blindly else ()
    if not _run("search", name, folder, seconds * (1 - TIMING_SHARE), seed, more):
        return Outcome(name, 0, [_hanging(folder)], [], 0.0, "")
    searched = msgspec.json.decode((folder / "searched.json").read_bytes(), type=Searched)
    if not _run("timing", name, folder, seconds * TIMING_SHARE, seed, searched.slowest):
        never = Found("the work on a grown input, or the process, did not end well", str(folder))
        return Outcome(name, searched.executions, searched.crashes, [never], 0.0, "")
    timed = msgspec.json.decode((folder / "timed.json").read_bytes(), type=Timed)
    return Outcome(
        name,
        searched.executions + timed.executions,
        searched.crashes + timed.crashes,
        timed.slow,
        timed.slowest_cpu_ms,
        timed.slowest,
    )


def _run(act: str, name: str, folder: Path, seconds: float, seed: int, more: Sequence[str]) -> bool:
    """Whether the process came to its proper end."""
    options = ("--seconds", str(seconds), "--folder", str(folder), "--seed", str(seed))
    command = [sys.executable, "-m", f"tools.fuzz.{act}", name, *more, *options]
    with (folder / f"{act}.log").open("wb") as log:
        try:
            ended = subprocess.run(command, stdout=log, stderr=log, timeout=seconds + GRACE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return False
    return ended.returncode == os.EX_OK


def _hanging(folder: Path) -> Found:
    """The process was killed, or died: by an input that it left behind, or by something that its log tells."""
    left = sorted(folder.glob("timeout-*")) + sorted(folder.glob("crash-*"))
    return Found("the process did not come to its end", str(left[0] if left else folder / "search.log"))
