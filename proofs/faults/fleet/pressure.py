"""F12 to F15: races for what is given once, overload, slow readers, and a long time."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence

import uvloop

from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.callers import TELL_SECONDS, WHOLE, Kind, Placed, order_of, place_one
from proofs.faults.fleet.join import join
from proofs.faults.fleet.site import Fleet
from proofs.faults.rows import BOOKS, Row, Tally
from proofs.rig import races
from proofs.rig.answer import read_answer
from proofs.rig.chat import Heard
from proofs.rig.checks import Check
from proofs.rig.database import fresh_database, migrated
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import say
from proofs.rig.raw_calls import connect, hang_up

AT_ONCE_IN_A_RACE = 200
# Enough to keep every worker busy; then twice and ten times as many.
CALLERS = 32
TIMES = (1, 2, 10)
# Taken in turns, forth and back: the speed of a machine moves by a quarter within minutes.
ROUNDS = 3
GOODPUT_LEAST = 0.9
REFUSED_MS_MOST = 50.0
# Far more than any buffer on the way takes.
TALKATIVE = Kind("tokens=4000", 4_000, True)
MEMORY_MB_MOST = 300
TOO_BUSY = (429, 503)


def raced(fleet: Fleet, amounts: Amounts) -> list[Row]:
    """F12, as `prove-accounts` has it at full size."""
    url = migrated(asyncio.run(fresh_database(fleet.pair.url, "races")))
    exact = uvloop.run(races.run(url, rounds=amounts.race_rounds, at_once=AT_ONCE_IN_A_RACE))
    calls = len(races.RACES) * amounts.race_rounds * AT_ONCE_IN_A_RACE
    won = len(races.RACES) * amounts.race_rounds
    clean = books_are_clean(fleet.settings | {"TOLLKEEPER_DATABASE_URL": url})
    return [
        Row(
            number=12,
            name="races for what is given once",
            load=f"{calls:,}, {AT_ONCE_IN_A_RACE} at once",
            tally=Tally(calls=calls, served=won, refused=calls - won),
            checks=[
                Check(BOOKS, clean),
                Check("exactly once, always", exact == len(races.RACES), f"{exact} of {len(races.RACES)} races"),
            ],
        )
    ]


def overloaded(fleet: Fleet, amounts: Amounts) -> list[Row]:
    """F13: so many callers that each calls again as soon as it has its answer; then more of them."""
    before, placed, seconds = fleet.memory_bytes(), list[Placed](), amounts.overload_seconds / ROUNDS
    found: dict[int, list[float]] = {times: [] for times in TIMES}
    for number in range(ROUNDS):
        for times in TIMES if number % 2 == 0 else reversed(TIMES):
            own = uvloop.run(_press(fleet, CALLERS * times, seconds))
            found[times].append(sum(one.is_served for one in own) / seconds)
            say(f"{CALLERS * times} callers: {found[times][-1]:.0f} answers/s, {len(own):,} calls")
            placed += own
    goodput = [statistics.median(rates) for rates in found.values()]
    tally, grown = join(fleet, placed), (fleet.memory_bytes() - before) / 1e6
    refused_ms = sorted(one.heard.seconds * 1_000 for one in placed if one.is_refused)
    p99_ms = refused_ms[int(len(refused_ms) * 0.99)] if refused_ms else 0.0
    # More callers may be served more; they must not be served less than fewer were.
    share = min(own / peak for own, peak in zip(goodput, itertools.accumulate(goodput, max), strict=True))
    wrong = [one for one in placed if not one.is_served and one.answer.status not in TOO_BUSY]
    say(f"goodput {share:.2f} of the peak, refusals {p99_ms:.0f} ms (p99), memory {grown:+.0f} MB")
    return [
        Row(
            number=13,
            name="overload, twice and ten times",
            load=f"{tally.calls:,}, {CALLERS * max(TIMES)} at once",
            tally=tally,
            checks=[
                Check(BOOKS, books_are_clean(fleet.books)),
                Check("ledger, truth and callers agree", tally.is_clean, str(tally)),
                Check("served, or told to come back", not wrong, "; ".join(map(str, wrong[:3]))),
                Check("memory is bounded", grown <= MEMORY_MB_MOST, f"{grown:.0f} MB"),
                Check("goodput stays", share >= GOODPUT_LEAST, f"{share:.2f}", timed=True),
                Check("refused at once", p99_ms <= REFUSED_MS_MOST, f"{p99_ms:.0f} ms", timed=True),
            ],
        )
    ]


async def _press(fleet: Fleet, callers: int, seconds: float) -> list[Placed]:
    until, placed = time.monotonic() + seconds, list[Placed]()

    async def call_again_and_again() -> None:
        while time.monotonic() < until:
            placed.append(await place_one(fleet.balancer.port, next(fleet.customers), WHOLE))

    await asyncio.gather(*(call_again_and_again() for _ in range(callers)))
    return placed


def slowly_read(fleet: Fleet, amounts: Amounts) -> list[Row]:
    """F14: readers who take a byte a second of long answers, straight from the nodes, and leave in the end."""
    before = fleet.memory_bytes()
    placed, most = asyncio.run(_read_slowly(fleet, amounts.slow_readers, amounts.slow_seconds))
    tally, grown = join(fleet, placed), (most - before) / 1e6
    say(f"{len(placed)} readers for {amounts.slow_seconds:g} s: memory {grown:+.0f} MB at most")
    return [
        Row(
            number=14,
            name="readers of a byte a second",
            load=f"{len(placed):,} for {amounts.slow_seconds:g} s",
            tally=tally,
            checks=[
                Check(BOOKS, books_are_clean(fleet.books)),
                Check("every call came to its end", tally.is_clean, str(tally)),
                Check("memory is bounded", grown <= MEMORY_MB_MOST, f"{grown:.0f} MB"),
            ],
        )
    ]


async def _read_slowly(fleet: Fleet, readers: int, seconds: float) -> tuple[list[Placed], int]:
    """What came of each call, and how much memory the nodes occupied at most meanwhile."""
    begun, most = time.monotonic(), 0
    until, told = begun + seconds, begun
    ports = itertools.cycle([node.port for node in fleet.nodes])
    reading = [asyncio.create_task(_slow_reader(next(ports), fleet, until)) for _ in range(readers)]
    while time.monotonic() < until:
        most = max(most, await asyncio.to_thread(fleet.memory_bytes))
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            left = sum(not one.done() for one in reading)
            say(f"{told - begun:.0f} s, {left:,} still read, {most / 1e6:.0f} MB at most")
        await asyncio.sleep(1)
    return await asyncio.gather(*reading), most


async def _slow_reader(port: int, fleet: Fleet, until: float) -> Placed:
    order, begun, received = order_of(next(fleet.customers), TALKATIVE), time.monotonic(), bytearray()
    reader, writer = await connect(port, reads=False)
    try:
        writer.write(order.request())
        while time.monotonic() < until:
            received += await reader.read(1)
            await asyncio.sleep(1)
    except ConnectionError:
        # A node may end a call that nobody reads.
        pass
    finally:
        hang_up(writer, by_reset=False)
    heard = Heard(answer=read_answer(bytes(received)), seconds=time.monotonic() - begun)
    return Placed(order=order, kind=TALKATIVE, begun=begun, heard=heard)


def slope_per_hour(samples: Sequence[tuple[float, float]]) -> float:
    """By how much the second of each pair grows in an hour of the first, in seconds: least squares."""
    mean_at = sum(at for at, _ in samples) / len(samples)
    mean = sum(value for _, value in samples) / len(samples)
    spread = sum((at - mean_at) ** 2 for at, _ in samples)
    return 3_600 * sum((at - mean_at) * (value - mean) for at, value in samples) / spread if spread else 0.0
