"""prove-ledger: nothing is lost, nothing is charged twice or for nothing, and it is fast.

Workers are killed with -9 and PostgreSQL is crashed under load, settles are sent twice; an upstream stand-in keeps its
own truth, with which the books are compared call by call. Four processes race for one balance. Mutants of the SQL must
be caught. Speeds are measured beside the same SQL driven by pgbench.
"""

import asyncio
import sys
import tempfile
from contextlib import ExitStack

import msgspec

from tools.node import fresh_secrets, tollkeeper
from tools.proofs import conclude, judges_timings, say, seed, size
from tools.proofs.ledger_rig import faults, ground, mutants, race, speed
from tools.services import Postgres, Redis

SETTINGS = {"max_wal_size": "4GB", "checkpoint_timeout": "15min"}
RATIO_LEAST = 0.5


class Size(msgspec.Struct, frozen=True):
    calls: int
    kills: int
    hosts_lost: int
    crashes: int
    race_rounds: int
    speed_seconds: float
    speed_rounds: int


SIZES = {
    "small": Size(calls=50_000, kills=10, hosts_lost=1, crashes=2, race_rounds=20, speed_seconds=3, speed_rounds=2),
    "full": Size(calls=1_000_000, kills=20, hosts_lost=2, crashes=5, race_rounds=20, speed_seconds=10, speed_rounds=5),
}


def main() -> int:
    chosen = size()
    asked = SIZES[chosen]
    chosen_seed = seed()
    with ExitStack() as stack:
        postgres = stack.enter_context(Postgres(durable=True, settings=SETTINGS))
        redis = stack.enter_context(Redis())

        say("racing for one balance")
        racing = a_database(postgres, "race", accounts=1)
        admitted = asyncio.run(race.run(racing, asked.race_rounds))
        exact_rounds = sum(count == race.CALLS_PAID for count in admitted)

        say("measuring speed beside pgbench")
        measured = asyncio.run(
            speed.measure(
                a_database(postgres, "speed", accounts=1_000),
                accounts=1_000,
                seconds=asked.speed_seconds,
                rounds=asked.speed_rounds,
            )
        )
        say(f"batches of {measured.batch_rows:.0f} rows")
        say(f"a hold takes {measured.hold_p50_ms:.0f} ms (p50), {measured.hold_p99_ms:.0f} ms (p99)")

        say("letting mutants loose")
        caught = 0
        for number, mutant in enumerate(mutants.MUTANTS):
            seen = asyncio.run(mutants.caught(mutant, a_database(postgres, f"mutant_{number}", accounts=2)))
            say(f"mutant '{mutant.name}': {'caught' if seen else 'NOT CAUGHT'}")
            caught += seen

        say(f"{asked.calls:,} calls, {asked.kills} kills, {asked.crashes} crashes")
        loaded = a_database(postgres, "faults", accounts=faults.ACCOUNTS)
        settings = fresh_secrets() | {
            "TOLLKEEPER_DATABASE_URL": loaded,
            "TOLLKEEPER_REDIS_URL": redis.url,
            "TOLLKEEPER_JOURNAL_FOLDER": tempfile.gettempdir(),
        }
        load = faults.Load(
            calls=asked.calls, kills=asked.kills, hosts_lost=asked.hosts_lost, crashes=asked.crashes, seed=chosen_seed
        )
        found = asyncio.run(faults.run(postgres, loaded, settings, load))
        books = [tollkeeper(settings | {"TOLLKEEPER_DATABASE_URL": url}, "books", "check") for url in (loaded, racing)]
        for check in books:
            if check.returncode:
                print(check.stdout, check.stderr)

    say(
        f"{found.in_flight} calls were in flight at a kill; all closed {found.close_seconds:.0f} s after the load ended"
    )
    conclude(
        {
            "calls": found.calls,
            "kills": found.kills,
            "hosts_lost": asked.hosts_lost,
            "pg_crashes": found.crashes,
            "lost": found.lost,
            "double": found.double,
            "ghost": found.ghost,
            "diff": found.diff,
            "left_open": found.left_open,
            "races": f"{exact_rounds}/{asked.race_rounds}",
            "per_s": round(measured.per_second),
            "hot_account_per_s": round(measured.hot_account_per_second),
            "ratio_to_bare": round(measured.ratio_to_bare, 2),
            "mutants_caught": f"{caught}/{len(mutants.MUTANTS)}",
            "books": "broken" if any(check.returncode for check in books) else "clean",
        }
    )
    wrong = (found.lost, found.double, found.ghost, found.diff, found.wrong_in_flight, found.left_open)
    held = (
        not any(wrong)
        and found.calls >= asked.calls * 0.99
        and exact_rounds == asked.race_rounds
        and caught == len(mutants.MUTANTS)
        and not any(check.returncode for check in books)
    )
    return 0 if held and (measured.ratio_to_bare >= RATIO_LEAST or not judges_timings(chosen)) else 1


def a_database(postgres: Postgres, name: str, *, accounts: int) -> str:
    url = ground.migrated(asyncio.run(ground.fresh_database(postgres.url, name)))
    asyncio.run(ground.fill(url, accounts))
    return url


if __name__ == "__main__":
    sys.exit(main())
