"""A site: two nodes that share a database and a Redis, and what their call logs say was admitted when."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from proofs.limits.line import HERE, Line, chat, get
from proofs.limits.shared_stores import Customer, SharedStores, Wish, furnish
from proofs.rig.deployment import journal_folder, start_together
from tools.node import Node, children, fresh_secrets

NODES = ("north", "south")
ADMITTED = b'"admitted_at"'
LINES_MOST = 64
WARMING = "warming up"


class Admission(msgspec.Struct, frozen=True):
    """What a line of the call log says of a call that was let in."""

    status: int
    key_id: int
    account_id: int
    # Unix microseconds by the limiter's clock.
    admitted_at: int


class Site:
    """Everything it starts is stopped with `stack`."""

    def __init__(self, stack: ExitStack, stores: SharedStores, name: str, redis_url: str) -> None:
        self._stack = stack
        self._stores = stores
        self.name = name
        self.settings = fresh_secrets() | {
            "TOLLKEEPER_DATABASE_URL": stores.database(name),
            "TOLLKEEPER_REDIS_URL": redis_url,
            "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack),
            # A busy machine is not a database that is away.
            "TOLLKEEPER_STORE_PATIENCE_SECONDS": "20",
        }
        self.customers: dict[str, Customer] = {}
        self.nodes: list[Node] = []

    def open(self, wishes: Mapping[str, Wish], *, workers: int = 2) -> None:
        """Customers, and two nodes that serve them."""
        self.customers = furnish(self.settings, self._stores.upstream, {WARMING: Wish(), **wishes})
        self.nodes = self.more_nodes(*NODES, workers=workers)

    def more_nodes(self, *names: str, workers: int = 2, settings: Mapping[str, str] | None = None) -> list[Node]:
        nodes = [Node(self.settings | self._own(name, workers) | dict(settings or {})) for name in names]
        start_together(self._stack, nodes)
        return nodes

    async def warm_up(self) -> None:
        """The first calls of a process load what the later ones find there, and hold each other up meanwhile."""
        key = self.customers[WARMING].key.text
        lines = await lines_to_every_worker(self.nodes)
        for asked in (chat(key), get("/v1/models", key), get("/v2/token/balance", key)):
            replies = [await line.ask(asked) for line in lines.values()]
            assert all(reply.status == 200 for reply in replies), replies
        for line in lines.values():
            line.close()

    def admissions(self) -> list[Admission]:
        return [admission for node in self.nodes for admission in _admissions(node.log)]

    def _own(self, name: str, workers: int) -> dict[str, str]:
        return {
            "TOLLKEEPER_NODE_NAME": f"{self.name} {name}",
            "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(self._stack),
            "TOLLKEEPER_WORKERS": str(workers),
        }


def _admissions(log: Path) -> Iterator[Admission]:
    with log.open("rb") as lines:
        for line in lines:
            # What has no line end yet is not a line yet; most lines tell of refused calls.
            if ADMITTED in line and line.endswith(b"\n"):
                yield msgspec.json.decode(line, type=Admission)


async def lines_to_every_worker(nodes: Sequence[Node], *, from_ip: str = HERE) -> dict[int, Line]:
    """A line to each worker process, by process id. The kernel chooses who takes a connection: try until all have."""
    found: dict[int, Line] = {}
    for node in nodes:
        assert node.process is not None
        workers = set(children(node.process.pid))
        wanted = int(node.settings["TOLLKEEPER_WORKERS"])
        mine: dict[int, Line] = {}
        for _ in range(LINES_MOST):
            line = await Line.to(node.port, from_ip=from_ip)
            # It is in nobody's hands until somebody has answered on it.
            await line.ask(f"GET /livez HTTP/1.1\r\nHost: {HERE}\r\n\r\n".encode())
            worker = holder(line.local_port, node.port, workers)
            if worker in mine:
                line.close()
            else:
                mine[worker] = line
            if len(mine) == wanted:
                break
        assert len(mine) == wanted, f"{len(mine)} of {wanted} workers took a connection"
        found |= mine
    return found


def holder(client_port: int, server_port: int, processes: set[int]) -> int:
    """Which of these processes has the server's end of a connection."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = {f"socket:[{row[9]}]" for row in rows if _port(row[1]) == server_port and _port(row[2]) == client_port}
    for process in processes:
        for link in Path(f"/proc/{process}/fd").iterdir():
            try:
                if str(link.readlink()) in ends:
                    return process
            except FileNotFoundError:
                continue
    raise LookupError(f"none of {processes} holds the connection from port {client_port}")


def _port(end: str) -> int:
    return int(end.partition(":")[2], 16)
