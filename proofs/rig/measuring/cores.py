"""Cores: what is measured has one to itself, everything else shares the rest.

A process inherits the cores of the one that starts it, and so do its threads and children. So this process changes its
own before it starts something, and nothing is moved while it is measured: PostgreSQL's sessions stay where it began.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from proofs.rig.measuring.processes import threads, tree
from proofs.rig.proof import say

# On one core, only where nobody else wants it, and no longer than whoever began it.
SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


class Cores(msgspec.Struct, frozen=True):
    """Which are for what is measured, and which for the rest; the same where there is only one."""

    measured: frozenset[int]
    others: frozenset[int]

    @contextmanager
    def start_measured(self) -> Iterator[None]:
        """What is started within is measured."""
        os.sched_setaffinity(0, self.measured)
        try:
            yield
        finally:
            os.sched_setaffinity(0, self.others)

    @contextmanager
    def all_for(self, root: int) -> Iterator[None]:
        """While nothing is measured, one of the others may use every core; with it those that it starts meanwhile."""
        _move(root, self.measured | self.others)
        try:
            yield
        finally:
            _move(root, self.others)

    @contextmanager
    def others_never_idle(self) -> Iterator[None]:
        """Whatever the rest has to do, its cores are at work: the measured one is as fast as it is beside busy ones."""
        spinning = [subprocess.Popen([sys.executable, "-c", SPIN, str(core)]) for core in self.others]
        try:
            yield
        finally:
            for process in spinning:
                process.kill()
                process.wait()

    def require_measured(self, root: int) -> None:
        _require(root, self.measured)

    def require_other(self, root: int) -> None:
        _require(root, self.others)


@contextmanager
def split() -> Iterator[Cores]:
    """Go to the cores of the rest, and back to all of them at the end."""
    allowed = os.sched_getaffinity(0)
    last = frozenset({max(allowed)})
    cores = Cores(last, frozenset(allowed) - last or last)
    if cores.measured == cores.others:
        say("there is one core only: what is measured shares it with everything else")
    os.sched_setaffinity(0, cores.others)
    try:
        yield cores
    finally:
        os.sched_setaffinity(0, allowed)


def _move(root: int, cores: frozenset[int]) -> None:
    for pid in tree(root):
        for thread in threads(pid):
            # One that has ended meanwhile is nowhere.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)


def _require(root: int, cores: frozenset[int]) -> None:
    """Make sure that nobody below has gone elsewhere."""
    for pid in tree(root):
        strays = [thread for thread in threads(pid) if not os.sched_getaffinity(thread) <= cores]
        assert not strays, f"threads {strays} of process {pid} are not on {set(cores)}"
