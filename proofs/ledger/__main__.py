"""prove-ledger: nothing is lost, nothing is charged twice or for nothing, and it is fast.

Workers are killed with -9 and PostgreSQL is crashed under load, settles are sent twice; an upstream stand-in keeps its
own truth, with which the books are compared call by call. Four processes race for one balance, and for the one call
that a key pays for (`once`, which can be run alone). Mutants of the SQL must be caught. Speeds are measured beside the
same SQL driven by pgbench.
"""

import asyncio
from contextlib import ExitStack

import msgspec

from proofs.ledger import kills, mutants, once, race, speed
from proofs.rig import database
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.proof import Run, prove, say, seed
from tools.services import Postgres

SETTINGS = {"max_wal_size": "4GB", "checkpoint_timeout": "15min"}
RATIO_LEAST = 0.5
LAST_LINE = (
    *("calls", "kills", "hosts_lost", "pg_crashes", "lost", "double", "ghost", "diff", "left_open", "races"),
    *("once_rounds", "once_kills", "once_calls", "once_paid", "once_unpaid", "once_twice", "once_open"),
    *("per_s", "hot_account_per_s", "ratio_to_bare", "mutants_caught", "books"),
)


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


def main(run: Run) -> int:
    asked = SIZES[run.size]
    chosen_seed = seed()
    with ExitStack() as stack:
        postgres = Postgres(durable=True, settings=SETTINGS)
        settings = deployment(stack, postgres=postgres)

        say("racing for one balance")
        racing = a_database(postgres, "race", accounts=1)
        admitted = asyncio.run(race.run(racing, asked.race_rounds))
        exact_rounds = sum(count == race.CALLS_PAID for count in admitted)
        run.figures["races"] = f"{exact_rounds}/{asked.race_rounds}"

        once_rounds, once_kills = once.SIZES[run.size]
        say(f"{once_rounds:,} rounds of calls with one key, {once_kills} kills")
        keyed = a_database(postgres, "once", accounts=1)
        paid_once = once.run(keyed, once_rounds, once_kills, chosen_seed)
        run.figures |= paid_once.figures()

        say("measuring speed beside pgbench")
        measured = asyncio.run(
            speed.measure(
                a_database(postgres, "speed", accounts=1_000),
                accounts=1_000,
                seconds=asked.speed_seconds,
                rounds=asked.speed_rounds,
            )
        )
        run.figures |= {
            "per_s": round(measured.per_second),
            "hot_account_per_s": round(measured.hot_account_per_second),
            "ratio_to_bare": round(measured.ratio_to_bare, 2),
        }
        say(f"batches of {measured.batch_rows:.0f} rows")
        say(f"a hold takes {measured.hold_p50_ms:.0f} ms (p50), {measured.hold_p99_ms:.0f} ms (p99)")

        say("letting mutants loose")
        caught = 0
        for number, mutant in enumerate(mutants.MUTANTS):
            seen = asyncio.run(mutants.caught(mutant, a_database(postgres, f"mutant_{number}", accounts=2)))
            say(f"mutant '{mutant.name}': {'caught' if seen else 'NOT CAUGHT'}")
            caught += seen
        run.figures["mutants_caught"] = f"{caught}/{len(mutants.MUTANTS)}"

        say(f"{asked.calls:,} calls, {asked.kills} kills, {asked.crashes} crashes")
        loaded = a_database(postgres, "faults", accounts=kills.ACCOUNTS)
        settings |= {"TOLLKEEPER_DATABASE_URL": loaded}
        load = kills.Load(
            calls=asked.calls, kills=asked.kills, hosts_lost=asked.hosts_lost, crashes=asked.crashes, seed=chosen_seed
        )
        found = asyncio.run(kills.run(postgres, loaded, settings, load))
        run.figures |= {name: getattr(found, name) for name in ("calls", "kills", "lost", "double", "ghost", "diff")}
        run.figures |= {"hosts_lost": asked.hosts_lost, "pg_crashes": found.crashes, "left_open": found.left_open}
        say(f"{found.in_flight} calls were in flight at a kill")
        say(f"all closed {found.close_seconds:.0f} s after the load ended")
        checked = [books_are_clean(settings | {"TOLLKEEPER_DATABASE_URL": url}) for url in (loaded, racing, keyed)]
        run.figures["books"] = "clean" if all(checked) else "broken"

    wrong = (found.lost, found.double, found.ghost, found.diff, found.wrong_in_flight, found.left_open)
    held = (
        not any(wrong)
        and found.calls >= asked.calls * 0.99
        and exact_rounds == asked.race_rounds
        and paid_once.holds
        and caught == len(mutants.MUTANTS)
        and all(checked)
    )
    return 0 if held and (measured.ratio_to_bare >= RATIO_LEAST or not run.judges_timings) else 1


def a_database(postgres: Postgres, name: str, *, accounts: int) -> str:
    url = database.migrated(asyncio.run(database.fresh_database(postgres.url, name)))
    asyncio.run(database.fill(url, accounts))
    return url


if __name__ == "__main__":
    prove(main, *LAST_LINE)
