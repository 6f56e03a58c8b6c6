"""Two hundred at once with one key, round after round, processes killed among them: each round is paid for once.

Alone: `python -m proofs.ledger.once --size full`.
"""

import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import msgspec

from proofs.ledger.once_worker import OncePlan
from proofs.rig import database
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.proof import Run, prove, say, seed
from tools.services import Postgres

PROCESSES = 4
CALLERS_EACH = 50
UNCHARGED_SHARE = 0.3
# (rounds, kills)
SIZES = {"small": (20, 5), "full": (1_000, 40)}
LAST_LINE = ("once_rounds", "once_kills", "once_calls", "once_paid", "once_unpaid", "once_twice", "once_open", "books")

PAID = "select request_id::text as id, charged from usage where charged > 0"
# What was really taken from lots, or is owed.
ENTERED = "select distinct cause::text as id from entry where kind in ('charged', 'overrun', 'debt')"


class OnceFindings(msgspec.Struct, kw_only=True):
    rounds: int
    kills: int
    calls: int
    # Rounds that were paid for once; never; more than once.
    paid: int
    unpaid: int
    twice: int
    left_open: int

    @property
    def holds(self) -> bool:
        return (self.paid, self.unpaid, self.twice, self.left_open) == (self.rounds, 0, 0, 0)

    def figures(self) -> dict[str, object]:
        counted = msgspec.structs.asdict(self)
        return {f"once_{'open' if name == 'left_open' else name}": count for name, count in counted.items()}


class Processes:
    """Four workers that are told the rounds; one that is killed is followed by another with the same journal."""

    def __init__(self, url: str, chosen_seed: int) -> None:
        self._url = url
        self._chance = random.Random(chosen_seed)
        self.folder = Path(tempfile.mkdtemp(prefix="tollkeeper-once-"))
        self._running = [self._start(place) for place in range(PROCESSES)]

    def round(self, number: int, *, kills: bool) -> None:
        for process in self._running:
            self._tell(process, number)
        if kills:
            place = self._chance.randrange(PROCESSES)
            time.sleep(self._chance.random() * 0.1)
            self._running[place].kill()
            self._running[place].wait()
            self._running[place] = self._start(place)
            self._tell(self._running[place], number)
        for process in self._running:
            assert process.stdout is not None
            assert int(process.stdout.readline()) == number

    def end(self) -> None:
        for process in self._running:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)

    def clear(self) -> None:
        """Leave nothing behind, however it went."""
        for process in self._running:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def calls(self) -> dict[str, int]:
        """The round of every call that was ever tried."""
        lines = [line.split() for file in self.folder.glob("calls-*") for line in file.read_text().splitlines()]
        return {request_id: int(number) for number, request_id in lines}

    def _tell(self, process: "subprocess.Popen[str]", number: int) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{number}\n")
        process.stdin.flush()

    def _start(self, place: int) -> "subprocess.Popen[str]":
        plan = OncePlan(
            database_url=self._url,
            journal_folder=str(self.folder / f"host-{place}"),
            calls_file=str(self.folder / f"calls-{place}"),
            rate=database.a_rate(),
            account=1,
            callers=CALLERS_EACH,
            uncharged_share=UNCHARGED_SHARE,
            seed=self._chance.randrange(2**31),
        )
        command = [sys.executable, "-m", "proofs.ledger.once_worker", msgspec.json.encode(plan).decode()]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )


def run(url: str, rounds: int, kills: int, chosen_seed: int) -> OnceFindings:
    processes = Processes(url, chosen_seed)
    killed_in = set(random.Random(chosen_seed).sample(range(rounds), kills))
    try:
        for number in range(rounds):
            processes.round(number, kills=number in killed_in)
        processes.end()
        return asyncio.run(_judge(url, processes.calls(), rounds, kills))
    finally:
        processes.clear()


async def _judge(url: str, calls: dict[str, int], rounds: int, kills: int) -> OnceFindings:
    connection = await database.connect(url)
    try:
        paid_ids = {row["id"] for row in await connection.fetch(PAID)}
        entered_ids = {row["id"] for row in await connection.fetch(ENTERED)}
        left_open: int = await connection.fetchval("select count(*) from hold where closed_at is null")
    finally:
        await connection.close()
    paid: dict[int, set[str]] = defaultdict(set)
    for request_id in paid_ids | entered_ids:
        paid[calls[request_id]].add(request_id)
    times = [len(paid[number]) for number in range(rounds)]
    return OnceFindings(
        rounds=rounds,
        kills=kills,
        calls=len(calls),
        paid=times.count(1),
        unpaid=times.count(0),
        twice=sum(count > 1 for count in times),
        left_open=left_open,
    )


def main(asked: Run) -> int:
    rounds, kills = SIZES[asked.size]
    with ExitStack() as stack:
        postgres = Postgres(durable=True)
        settings = deployment(stack, postgres=postgres)
        url = database.migrated(asyncio.run(database.fresh_database(postgres.url, "once")))
        asyncio.run(database.fill(url, 1))
        say(f"{rounds:,} rounds of {PROCESSES * CALLERS_EACH} calls at once, {kills} kills")
        found = run(url, rounds, kills, seed())
        asked.figures |= found.figures()
        clean = books_are_clean(settings | {"TOLLKEEPER_DATABASE_URL": url})
        asked.figures["books"] = "clean" if clean else "broken"
    return 0 if found.holds and clean else 1


if __name__ == "__main__":
    prove(main, *LAST_LINE)
