"""Load with faults: workers killed with -9, PostgreSQL crashed, settles sent twice; then truth against books."""

import asyncio
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import msgspec

from proofs.ledger.worker import Plan
from proofs.rig.database import a_rate, connect, exact_charge
from proofs.rig.patience import patience, wait_until
from proofs.rig.proof import say
from tools.node import clean_environment
from tools.services import Postgres
from tools.services.process import free_port

WORKERS = 4
ACCOUNTS = 1_000
CLOSED_WITHIN_SECONDS = 60.0
STUCK_AFTER_SECONDS = 120.0


RECEIPTS = """
select u.request_id::text as id, u.charged, u.held, u.ending, w.node
from usage u join hold h using (request_id) join worker w on w.id = h.worker_id
"""


# What was really taken from lots, or is owed, for each call.
ENTERED = """
select cause::text as id, sum(amount) as charged from entry where kind in ('charged', 'overrun', 'debt') group by cause
"""


class Findings(msgspec.Struct, kw_only=True):
    calls: int
    kills: int
    crashes: int
    lost: int
    double: int
    ghost: int
    diff: int
    in_flight: int
    wrong_in_flight: int
    left_open: int = 0
    close_seconds: float = 0.0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    calls: int
    kills: int
    hosts_lost: int
    crashes: int
    seed: int


class Truth(msgspec.Struct, frozen=True):
    """What the upstream knows: what each answer should cost, and which answers reached their customer."""

    answered: dict[str, int]
    finished: set[str]


class Hosts:
    """Four workers on hosts of their own, one upstream, one sweeper."""

    def __init__(self, postgres: Postgres, url: str, settings: dict[str, str], seed: int) -> None:
        self._postgres = postgres
        self._url = url
        self._settings = settings
        self._chance = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="tollkeeper-rig-"))
        self.truth = self.folder / "truth"
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._hosts = [0] * WORKERS
        self.lost_nodes: list[str] = []

    def start(self) -> None:
        upstream = [sys.executable, "-m", "proofs.ledger.upstream", str(self._port), str(self.truth), "1"]
        self._upstream = subprocess.Popen(upstream)
        wait_until(self.truth.exists)
        self._sweeper = subprocess.Popen(
            [sys.executable, "-m", "tollkeeper", "work"],
            env=clean_environment() | self._settings | {"TOLLKEEPER_JOURNAL_FOLDER": str(self.folder / "sweeper")},
            stderr=subprocess.DEVNULL,
        )
        self._processes = [self._start_worker(place) for place in range(WORKERS)]

    def kill(self) -> None:
        """Kill a worker; the next one on its host finds its journal."""
        self._kill(self._chance.randrange(WORKERS))

    def lose_host(self) -> None:
        """Kill a worker and take its journal away: only the sweeper is left to settle its calls."""
        place = self._chance.randrange(WORKERS)
        self.lost_nodes.append(f"rig-{self._processes[place].pid}")
        self._hosts[place] += 1
        self._kill(place)

    def _kill(self, place: int) -> None:
        self._processes[place].kill()
        self._processes[place].wait()
        self._processes[place] = self._start_worker(place)

    def crash(self) -> None:
        self._postgres.crash()
        self._postgres.start()

    def stop_workers(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(patience(60))
        self._upstream.terminate()
        self._upstream.wait(patience(20))

    def end(self) -> None:
        for process in (*self._processes, self._sweeper, self._upstream):
            if process.poll() is None:
                process.terminate()
                process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _host(self, place: int) -> Path:
        return self.folder / f"host-{place}-{self._hosts[place]}"

    def _start_worker(self, place: int) -> subprocess.Popen[bytes]:
        plan = Plan(
            database_url=self._url,
            journal_folder=str(self._host(place)),
            upstream_port=self._port,
            rate=a_rate(),
            accounts=ACCOUNTS,
            concurrency=32,
            duplicate_share=0.05,
            seed=self._chance.randrange(2**31),
        )
        command = [sys.executable, "-m", "proofs.ledger.worker", msgspec.json.encode(plan).decode()]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)


async def run(postgres: Postgres, url: str, settings: dict[str, str], load: Load) -> Findings:
    """Make the calls with the faults spread over them, then compare the upstream's truth with the books."""
    hosts = Hosts(postgres, url, settings, load.seed)
    try:
        hosts.start()
        await _make_trouble(hosts, url, load)
        hosts.stop_workers()
        begun = time.monotonic()
        left_open = await _until_closed(url)
        close_seconds = time.monotonic() - begun
        found = await _compare(url, read_truth(hosts.truth), load, hosts.lost_nodes)
    finally:
        hosts.end()
    found.left_open, found.close_seconds = left_open, close_seconds
    return found


async def _make_trouble(hosts: Hosts, url: str, load: Load) -> None:
    calls = load.calls
    faults = [hosts.kill] * load.kills + [hosts.crash] * load.crashes
    random.Random(load.seed).shuffle(faults)
    # Hosts are lost first: the sweeper's patience then passes while load goes on.
    faults = [hosts.lose_host] * load.hosts_lost + faults
    # The first fault comes early and the last one early enough that load goes on behind it.
    due = [calls * (number + 1) // (len(faults) + 2) for number in range(len(faults))]
    settled, moved_at = 0, time.monotonic()
    while settled < calls:
        await asyncio.sleep(0.2)
        before, settled = settled, await _settled(url, settled)
        if settled > before:
            moved_at = time.monotonic()
        assert time.monotonic() - moved_at < STUCK_AFTER_SECONDS, "the load stands still"
        while due and settled >= due[0]:
            due.pop(0)
            fault = faults.pop(0)
            await asyncio.to_thread(fault)
            say(f"{settled:,} of {calls:,} calls settled; {fault.__name__.replace('_', ' ')}")


async def _settled(url: str, before: int) -> int:
    """How many calls are settled; as many as before while the database is away."""
    try:
        connection = await connect(url)
        count: int = await connection.fetchval("select count(*) from usage")
        await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return before
    return count


async def _until_closed(url: str) -> int:
    deadline = time.monotonic() + patience(CLOSED_WITHIN_SECONDS)
    connection = await connect(url)
    try:
        while True:
            left: int = await connection.fetchval("select count(*) from hold where closed_at is null")
            if left == 0 or time.monotonic() > deadline:
                return left
            await asyncio.sleep(0.5)
    finally:
        await connection.close()


def read_truth(file: Path) -> Truth:
    truth = Truth({}, set())
    for line in file.read_text().splitlines():
        request_id, *rest = line.split()
        if rest == ["done"]:
            truth.finished.add(request_id)
        else:
            truth.answered[request_id] = exact_charge(int(rest[1]), int(rest[2]))
    return truth


async def _compare(url: str, truth: Truth, load: Load, lost_nodes: list[str]) -> Findings:
    """Finished calls must be booked to the unit. Those under way when a worker or host was lost are judged apart."""
    connection = await connect(url)
    try:
        rows = await connection.fetch(RECEIPTS)
        entered = {row["id"]: int(row["charged"]) for row in await connection.fetch(ENTERED)}
    finally:
        await connection.close()
    booked = {row["id"]: row for row in rows}
    lost_with_host = {row["id"] for row in rows if row["node"] in lost_nodes and row["ending"] == "owner_died"}
    answered, finished = truth.answered, truth.finished - lost_with_host
    in_flight = [row for row in rows if row["id"] not in finished]
    return Findings(
        calls=len(finished),
        kills=load.kills,
        crashes=load.crashes,
        lost=sum(request_id not in booked or booked[request_id]["charged"] == 0 for request_id in finished),
        double=sum(amount > booked[cause]["charged"] for cause, amount in entered.items() if cause in booked)
        + sum(cause not in booked for cause in entered),
        ghost=sum(row["charged"] > 0 and row["id"] not in answered and row["ending"] == "completed" for row in rows),
        diff=sum(abs(entered.get(request_id, 0) - answered[request_id]) for request_id in finished),
        in_flight=len(in_flight),
        wrong_in_flight=sum(not 0 <= row["charged"] <= row["held"] for row in in_flight),
    )
