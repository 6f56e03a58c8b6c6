"""What the worker processes of a node hold open, and that it is no more after the load than before."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from proofs.rig.patience import came_true
from tools.node import Node, children

# Idle connections to a provider are kept for 15 s.
BACK_WITHIN_SECONDS = 30.0


class Descriptors(msgspec.Struct, frozen=True):
    """How many each worker process has open, those to the simulator apart: they may be kept for a while."""

    own: dict[int, int]
    upstream: dict[int, int]

    def above(self, before: "Descriptors") -> int:
        """The most that a worker has open now beyond what it had before, kept connections counted as well."""
        return max(self.own[pid] + self.upstream[pid] - count for pid, count in before.own.items())


def descriptors(node: Node, *upstream_ports: int) -> Descriptors:
    assert node.process is not None
    own, upstream = {}, {}
    for pid in children(node.process.pid):
        upstream[pid] = _sockets_to(pid, upstream_ports)
        own[pid] = len(list(Path(f"/proc/{pid}/fd").iterdir())) - upstream[pid]
    return Descriptors(own, upstream)


def wait_until_back(node: Node, upstream_port: int, before: Descriptors, *, most: int) -> int:
    """How many are left beyond those before, once kept connections are let go."""
    came_true(lambda: descriptors(node, upstream_port).above(before) <= most, within_seconds=BACK_WITHIN_SECONDS)
    return descriptors(node, upstream_port).above(before)


def _sockets_to(pid: int, ports: Sequence[int]) -> int:
    own = {where for link in Path(f"/proc/{pid}/fd").iterdir() if (where := _leads_to(link)) is not None}
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(f"socket:[{row[9]}]" in own and int(row[2].rpartition(":")[2], 16) in ports for row in rows)


def _leads_to(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return None  # It was closed meanwhile.
