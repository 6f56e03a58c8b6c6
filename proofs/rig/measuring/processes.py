"""What processes cost, as the kernel has counted it: time on a core, memory of their own, ports."""

import os
import time
from pathlib import Path

from tools.node import Node

LISTENS = "0A"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Of a clock's number, its last three bits: what the scheduler has given to all threads of a process.
SCHEDULED = 0b010


def tree(root: int) -> list[int]:
    """A process, its children, and theirs."""
    return [root, *(pid for child in _children(root) for pid in tree(child))]


def cpu_seconds(root: int) -> float:
    """Time on a core so far of a process and all below it.

    Of those that live, the scheduler's own count, to the nanosecond, with the threads that have ended. Of children that
    have ended, what the kernel added to their parent when it buried them, to the tick.
    """
    return sum(map(_scheduled_seconds, tree(root)))


def own_bytes(root: int) -> int:
    """Anonymous memory of a process and all below it. Unlike PSS it does not move when strangers load the same files,
    and unlike the counters in /proc/PID/status it is exact to the page."""
    return sum(_kilobytes(pid, "smaps_rollup", "Anonymous:") for pid in tree(root)) * 1_024


def memory_bytes(node: Node) -> int:
    """What the node's processes occupy together, down to the last descendant; shared pages are counted once (PSS)."""
    assert node.process is not None
    return sum(map(_occupied_bytes, tree(node.process.pid)))


def largest_child_bytes(root: int) -> int:
    """Resident memory of the largest process below this one: of a node, of a worker."""
    return max(_kilobytes(pid, "status", "VmRSS:") for pid in tree(root)[1:]) * 1_024


def listeners(port: int) -> set[int]:
    """Who listens on a port. The kernel lets several servers share one without telling any of them."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    return {int(folder.parent.name) for folder in Path("/proc").glob("[0-9]*/fd") if _holds_any(folder, sockets)}


def is_listened_on(port: int) -> bool:
    """Also by processes into which nobody may look."""
    return bool(_listening_inodes(port))


def require_alone(port: int, root: int) -> None:
    """Make sure that what answers on this port is what we started, and nothing else."""
    found = listeners(port)
    assert found, f"nobody listens on port {port}"
    assert found <= set(tree(root)), f"port {port} is shared with a stranger: {found}"


def threads(pid: int) -> list[int]:
    try:
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []  # It has ended meanwhile.


def _children(pid: int) -> list[int]:
    try:
        found = [Path(f"/proc/{pid}/task/{thread}/children").read_text() for thread in threads(pid)]
    except OSError:
        return []  # It has ended meanwhile.
    return [int(child) for text in found for child in text.split()]


def _scheduled_seconds(pid: int) -> float:
    try:
        # What clock_getcpuclockid(3) gives.
        alive = time.clock_gettime(~pid << 3 | SCHEDULED)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0  # It has ended meanwhile; its parent has its time.
    return alive + sum(map(int, fields[13:15])) / TICKS_PER_SECOND


def _occupied_bytes(pid: int) -> int:
    """Nothing, of one that has just ended."""
    try:
        return _kilobytes(pid, "smaps_rollup", "Pss:") * 1_024
    except (OSError, LookupError):
        return 0


def _kilobytes(pid: int, file: str, name: str) -> int:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise LookupError(f"the kernel does not tell {name} of process {pid}")


def _listening_inodes(port: int) -> set[str]:
    # Who listens on every address of both kinds stands in the second table alone.
    tables = [table for name in ("tcp", "tcp6") if (table := Path("/proc/net") / name).exists()]
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == LISTENS and int(row[1].partition(":")[2], 16) == port}


def _holds_any(folder: Path, sockets: set[str]) -> bool:
    try:
        return any(str(link.readlink()) in sockets for link in folder.iterdir())
    except OSError:
        return False  # It has ended meanwhile, or is not ours to look into.
