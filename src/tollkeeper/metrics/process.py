"""What the system knows of this process."""

import os
from collections.abc import Iterator
from pathlib import Path

from tollkeeper import __version__
from tollkeeper.metrics import table
from tollkeeper.metrics.series import Sample

OWN = Path("/proc/self")


def samples(part: str, begun: float) -> Iterator[Sample]:
    """`part`: gateway, console or worker. `begun`: when it began to be one, in Unix time."""
    yield table.BUILD_INFO, (part, __version__), 1
    spent = os.times()
    yield table.PROCESS_CPU, (), spent.user + spent.system
    yield table.PROCESS_START, (), begun
    if OWN.exists():
        pages = int((OWN / "statm").read_text(encoding="ascii").split()[1])
        yield table.PROCESS_MEMORY, (), pages * os.sysconf("SC_PAGE_SIZE")
        yield table.PROCESS_DESCRIPTORS, (), len([*(OWN / "fd").iterdir()])
