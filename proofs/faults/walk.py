"""A random walk over faults and loads: any fault in any order, sometimes two at once, all of it chosen by a seed.

Alone, for half an hour: `python -m proofs.faults.walk --size full`; with `--only 3` and a SEED, three legs.
Seeds that were walked are kept in `KEPT`, as regressions; their first legs are walked again in full size.

Rules of this file
1. Whatever happens, nothing is lost, charged twice or for nothing, no call hangs, and all of them are settled.
2. Faults that happen at once have different subjects: one server is not crashed and frozen at the same time.
"""

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

from proofs.faults import rows
from proofs.faults.fleet.callers import LATE_WHOLE, LONG_STREAM, MIXED, STREAM, WHOLE, Kind, Load
from proofs.faults.fleet.expect import nothing_said
from proofs.faults.fleet.scenario import Act, Fault, Scenario, endure, row_of
from proofs.faults.fleet.site import Fleet
from proofs.faults.rows import Row
from proofs.rig.checks import failed
from proofs.rig.proof import Run, prove, say, seed

# Its row is none of the fault table.
NUMBER = 0
KEYS = {"small": 20_000, "full": 200_000}
SECONDS = {"small": 35.0, "full": 1_800.0}
FAULTS_OF_A_LEG = 4
AT_ONCE_SHARE = 0.4
CALLS_BETWEEN = (5, 100)
CALLS_AFTER = 60
RATES = (10, 25, 40)
KINDS: Sequence[Sequence[Kind]] = (MIXED, (WHOLE, LATE_WHOLE), (STREAM, LONG_STREAM), (LONG_STREAM,))
KEPT: Sequence[int] = (5, 7, 11, 19, 23, 42, 51, 64, 93, 101)
KEPT_LEGS = 3
# Of a walk alone, whose faults are not those of the table.
FIGURES = ("legs", *rows.FIGURES[1:])


def _fail_over(fleet: Fleet) -> None:
    fleet.pair.fail_over()
    fleet.pair.follow()


def _crash(fleet: Fleet) -> None:
    fleet.pair.crash()
    fleet.pair.wait_until_followed()


def _freeze(fleet: Fleet, *, seconds: float) -> None:
    fleet.pair.freeze(seconds)


def _exhaust(fleet: Fleet, *, seconds: float) -> None:
    fleet.pair.exhaust(seconds)


def _flush(fleet: Fleet) -> None:
    fleet.master.ask("FLUSHALL")


def _storm(fleet: Fleet, *, weather: str) -> None:
    fleet.simulators["stormy"].storm(weather)


def acts(chance: random.Random) -> Mapping[str, Mapping[str, Act]]:
    """By subject and name. How long each lasts is chosen here; which worker or node, when it happens."""
    return {
        "nodes": {
            "a worker is killed": Fleet.kill_worker,
            "a node is killed": Fleet.kill_node,
            "a node restarts": partial(Fleet.restart, place=chance.randrange(2)),
            "a node is renewed": partial(Fleet.renew, place=chance.randrange(2)),
        },
        "database": {
            "PostgreSQL crashes": _crash,
            "the standby takes over": _fail_over,
            "PostgreSQL is frozen": partial(_freeze, seconds=chance.uniform(0.5, 7)),
            "others take all connections": partial(_exhaust, seconds=chance.uniform(0.5, 4)),
        },
        "Redis": {
            "Redis is killed": Fleet.fail_redis_over,
            "Redis is frozen": partial(Fleet.freeze_redis, seconds=chance.uniform(0.5, 3)),
            "Redis is flushed": _flush,
            "the host of Redis is cut off": partial(Fleet.cut_redis_off, seconds=chance.uniform(0.5, 5)),
        },
        "providers": {
            "a storm of 503": partial(_storm, weather="0.5:503"),
            "a storm of 429": partial(_storm, weather="0.5:429"),
            "calm": partial(_storm, weather=""),
        },
    }


def leg(number: int, chance: random.Random) -> Scenario:
    """A load, and some faults."""
    return Scenario(
        number=NUMBER,
        name=f"a random walk, leg {number}",
        load=Load(per_second=chance.choice(RATES), kinds=chance.choice(KINDS)),
        faults=[_fault(chance) for _ in range(FAULTS_OF_A_LEG)],
        calls_after=CALLS_AFTER,
        expects=[nothing_said],
        afterwards=Fleet.wait_for_leaving,
    )


def _fault(chance: random.Random) -> Fault:
    known = acts(chance)
    subjects = chance.sample(sorted(known), 2 if chance.random() < AT_ONCE_SHARE else 1)
    chosen = [chance.choice(sorted(known[subject].items(), key=lambda item: item[0])) for subject in subjects]
    return Fault(
        name=" and ".join(name for name, _ in chosen),
        act=partial(_at_once, acts=[act for _, act in chosen]),
        after_calls=chance.randint(*CALLS_BETWEEN),
        lasts=True,
    )


def _at_once(fleet: Fleet, *, acts: Sequence[Act]) -> str:
    with ThreadPoolExecutor(len(acts)) as hands:
        said = [under_way.result() for under_way in [hands.submit(act, fleet) for act in acts]]
    return "; ".join(str(each) for each in said if each)


def walk(fleet: Fleet, chance: random.Random, *, seconds: float, legs: int | None = None) -> list[Row]:
    """Leg after leg until the time is over, or so many legs."""
    begun, walked = time.monotonic(), list[Row]()
    while len(walked) < legs if legs is not None else time.monotonic() - begun < seconds:
        scenario = leg(len(walked) + 1, chance)
        walked.append(row_of(scenario, endure(fleet, scenario)))
        _storm(fleet, weather="")
    return walked


def main(run: Run) -> int:
    walked = walk_alone(run, seed(), run.only)
    for kept in KEPT if run.size == "full" else ():
        walked += walk_alone(run, kept, KEPT_LEGS)
    found = rows.figures(walked, timed=run.judges_timings) | {"legs": len(walked)}
    run.figures |= {name: found[name] for name in FIGURES}
    rows.print_table(walked, timed=run.judges_timings)
    return 1 if [check for row in walked for check in failed(row.checks, timed=run.judges_timings)] else 0


def walk_alone(run: Run, chosen_seed: int, legs: int | None) -> list[Row]:
    say(f"the walk of seed {chosen_seed}")
    with ExitStack() as stack:
        fleet = Fleet(stack, keys=KEYS[run.size], chance=random.Random(chosen_seed))
        return walk(fleet, random.Random(chosen_seed), seconds=SECONDS[run.size], legs=legs)


if __name__ == "__main__":
    prove(main, *FIGURES)
