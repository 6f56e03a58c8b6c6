"""What processes cost, as the kernel has counted it: time on a core, memory of their own, ports."""

import os
from pathlib import Path

from tools.node import children

LISTENS = "0A"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(root: int) -> float:
    """User and system time so far of a process, its children, and those that it had and has buried."""
    return sum(map(_ticks, [root, *children(root)])) / TICKS_PER_SECOND


def own_bytes(root: int) -> int:
    """Anonymous memory of a process and its children. Unlike PSS it does not move when strangers load the same files,
    and unlike the counters in /proc/PID/status it is exact to the page."""
    return sum(map(_anonymous_bytes, [root, *children(root)]))


def listeners(port: int) -> set[int]:
    """Who listens on a port. The kernel lets several servers share one without telling any of them."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    return {int(folder.parent.name) for folder in Path("/proc").glob("[0-9]*/fd") if _holds_any(folder, sockets)}


def require_alone(port: int, root: int) -> None:
    """Make sure that what answers on this port is what we started, and nothing else."""
    found = listeners(port)
    assert found, f"nobody listens on port {port}"
    assert found <= {root, *children(root)}, f"port {port} is shared with a stranger: {found}"


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15]))


def _anonymous_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1_024
    raise LookupError(f"the kernel does not tell the memory of process {pid}")


def _listening_inodes(port: int) -> set[str]:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == LISTENS and int(row[1].partition(":")[2], 16) == port}


def _holds_any(folder: Path, sockets: set[str]) -> bool:
    try:
        return any(str(link.readlink()) in sockets for link in folder.iterdir())
    except OSError:
        return False  # It has ended meanwhile, or is not ours to look into.
