"""The restore drill: a base backup under load, then database and node are lost, and all comes back from the archive.

A deployment of its own. Nothing that somebody was told of may be missing: an answer that a caller has whole, or a
credit that an operator was confirmed. Then the same backup is restored to a point in time: what was confirmed before it
is there, what was begun after it is not.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from itertools import cycle

import msgspec

from proofs.rig.answer import Tail
from proofs.rig.books import settled_books
from proofs.rig.chat import Order, call
from proofs.rig.checks import Check, failed
from proofs.rig.customers import ACTOR, PROVIDER_KEY, Customer, an_account, fill_customers
from proofs.rig.database import connect
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.patience import came_true
from proofs.rig.proof import Run, prove, say
from proofs.run.archive import ArchivedPostgres
from tollkeeper.app.office import office
from tollkeeper.settings import load
from tools.accounts import add_accounts, without_limits
from tools.node import Node, children, command
from tools.simulator import Simulator

# How many are answered in each of the three parts: before the base backup, after it, and after the restore.
CALLS = {"small": 40, "full": 2_000}
KEYS = 200
PER_SECOND = {"small": 25, "full": 100}
AT_ONCE = 20
CALLS_WITHIN_SECONDS = 120.0
PROVIDER_ACCOUNTS = 4
CREDIT_EVERY_SECONDS = 0.2
WHOLE = (Tail.ANSWER, Tail.DONE)
MODEL = ("model", "add", "gpt-4o", "--multiplier", "1.25", "--completion", "4")


def restored(run: Run) -> Sequence[Check]:
    """Notes `restored_lost` and `restore_s` in the run."""
    with ExitStack() as stack:
        postgres = ArchivedPostgres()
        settings = deployment(stack, postgres=postgres)
        command(settings, "migrate")
        command(settings, *MODEL)
        simulator = stack.enter_context(Simulator(key=PROVIDER_KEY, delay_ms=20))
        asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
        asyncio.run(add_accounts(settings, simulator.base, PROVIDER_KEY, PROVIDER_ACCOUNTS))
        # They are made before the base backup, and at work when it is taken.
        customers = asyncio.run(fill_customers(settings, KEYS, random.Random(1)))
        node = stack.enter_context(Node(settings))
        postgres.begin_archiving()
        return asyncio.run(_drill(run, settings, postgres, node, customers))


async def _drill(
    run: Run, settings: Mapping[str, str], postgres: ArchivedPostgres, node: Node, customers: Sequence[Customer]
) -> Sequence[Check]:
    calls = CALLS[run.size]
    say("calls and credits, a base backup among them, and then the database and the node are lost")
    credited = list[int]()
    crediting = asyncio.create_task(_credit(settings, credited))
    early = Callers(node, PER_SECOND[run.size])
    calling = asyncio.create_task(early.call(cycle(customers)))
    await _until(lambda: len(early.served) >= calls)
    await asyncio.to_thread(postgres.back_up)
    backed_up = len(early.served)
    await _until(lambda: len(early.served) >= backed_up + calls // 2)
    moment = await _noted(postgres, credited)
    await _until(lambda: len(early.served) >= backed_up + calls and len(credited) > moment.begun + 1)
    await asyncio.to_thread(_lose, postgres, node)
    early.stopped = True
    lost_at, told = time.monotonic(), len(early.served)
    await crediting
    await asyncio.to_thread(postgres.restore)
    restore_seconds = time.monotonic() - lost_at
    await asyncio.to_thread(node.start)
    say(f"restored after {restore_seconds:.1f} s; {calls} calls more")
    late = Callers(node, PER_SECOND[run.size])
    await asyncio.gather(calling, late.call(customers[:calls]))
    missing_calls = await asyncio.to_thread(_missing_calls, settings, [*early.served, *late.served])
    missing_credits = await _missing_credits(settings, credited)
    say(f"{told} answers and {len(credited)} credits were told of; {missing_calls} and {missing_credits} are lost")
    run.figures |= {"restored_lost": missing_calls + missing_credits, "restore_s": round(restore_seconds, 1)}
    clean = await asyncio.to_thread(books_are_clean, settings)
    await asyncio.to_thread(node.stop)
    return [
        Check("credits were entered before the database was lost", len(credited) > 0),
        Check("nothing that was told is missing", missing_calls + missing_credits == 0, f"{missing_calls} calls"),
        Check("the node serves all calls afterwards", len(late.served) == calls, f"{len(late.served)}"),
        Check("the books are clean", clean),
        *await _to_the_moment(settings, postgres, moment, credited),
    ]


class Moment(msgspec.Struct, frozen=True):
    """A point in time, by the database's clock: so many credits were confirmed before, and so many begun at most."""

    at: str
    confirmed: int
    begun: int


async def _noted(postgres: ArchivedPostgres, credited: Sequence[int]) -> Moment:
    confirmed = len(credited)
    at = await asyncio.to_thread(postgres.ask, "select clock_timestamp()")
    # One more may be on its way.
    return Moment(at, confirmed, len(credited) + 1)


async def _to_the_moment(
    settings: Mapping[str, str], postgres: ArchivedPostgres, moment: Moment, credited: Sequence[int]
) -> list[Check]:
    """The same backup and archive, up to the moment and no further."""
    before, after = credited[: moment.confirmed], credited[moment.begun :]
    await asyncio.to_thread(postgres.restore, until=moment.at)
    missing, absent = await _missing_credits(settings, before), await _missing_credits(settings, after)
    say(
        f"restored to {moment.at}: {missing} of {len(before)} credits before it missing, {absent} of {len(after)} after"
    )
    clean = await asyncio.to_thread(books_are_clean, settings)
    return [
        Check("a restore to a point in time has all from before it", 0 == missing < len(before), f"{missing}"),
        Check("and nothing from after it", absent == len(after) > 0, f"{absent} of {len(after)}"),
        Check("and its books are clean", clean),
    ]


class ServedCall(msgspec.Struct, frozen=True):
    """One whose answer came whole."""

    key_id: int
    request_id: str


class Callers:
    """Calls at an even pace, until they are stopped, and whose answers came whole."""

    def __init__(self, node: Node, per_second: float) -> None:
        self.served: list[ServedCall] = []
        self.stopped = False
        self._node = node
        self._per_second = per_second
        self._free = asyncio.Semaphore(AT_ONCE)

    async def call(self, customers: Iterable[Customer]) -> None:
        tasks = []
        for number, customer in enumerate(customers):
            await self._free.acquire()
            if self.stopped:
                break
            tasks.append(asyncio.create_task(self._one(customer, stream=number % 2 == 0)))
            await asyncio.sleep(1 / self._per_second)
        await asyncio.gather(*tasks)

    async def _one(self, customer: Customer, *, stream: bool) -> None:
        try:
            heard = await call(self._node.port, Order(customer=customer, text="Hello", stream=stream))
        except ConnectionError:
            return
        finally:
            self._free.release()
        if heard.answer.tail in WHOLE:
            self.served.append(ServedCall(customer.key_id, heard.answer.request_id))


async def _until(is_true: Callable[[], bool]) -> None:
    if not await asyncio.to_thread(came_true, is_true, within_seconds=CALLS_WITHIN_SECONDS):
        raise TimeoutError("the calls do not go on")


async def _credit(settings: Mapping[str, str], confirmed: list[int]) -> None:
    """Make accounts with quota, one after the other, until the database is gone; note those that were confirmed."""
    try:
        async with office(load(settings)) as desk:
            while True:
                confirmed.append(await an_account(desk, f"{ACTOR} {len(confirmed)}", Decimal(1)))
                await asyncio.sleep(CREDIT_EVERY_SECONDS)
    except Exception as problem:  # Whatever a database says that is killed.
        say(f"no more credits: {type(problem).__name__}")


def _lose(postgres: ArchivedPostgres, node: Node) -> None:
    postgres.lose()
    assert node.process is not None
    for pid in [*children(node.process.pid), node.process.pid]:
        os.kill(pid, signal.SIGKILL)
    node.process.wait()


def _missing_calls(settings: Mapping[str, str], served: Sequence[ServedCall]) -> int:
    """Calls that their callers have whole, and of which the books know nothing."""
    books = settled_books(settings, [call.key_id for call in served], expected=len(served))
    return sum(not books.entered.get(call.request_id) for call in served)


async def _missing_credits(settings: Mapping[str, str], credited: Sequence[int]) -> int:
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        rows = await connection.fetch("select distinct account_id from lot where account_id = any($1)", list(credited))
    finally:
        await connection.close()
    return len(credited) - len(rows)


def main(run: Run) -> int:
    return 1 if failed(restored(run), timed=run.judges_timings) else 0


if __name__ == "__main__":
    prove(main, "restored_lost", "restore_s")
