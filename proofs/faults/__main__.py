"""prove-faults: whatever dies, freezes, lies or leaves, every call ends, is charged once by its rule, and is not lost.

F1 to F15 of the fault table. F6, F9 and F10 are about single calls, on one node; the others about a fleet: two nodes of
two workers behind HAProxy, PostgreSQL with a synchronous standby, Redis under Sentinel, and providers that keep the
truth. Each ends with a books check and the join of what ledger, providers and callers say.
`make prove-faults ONLY=3` runs one fault alone; `SEED=…` repeats a run's choices.
"""

import random
import time
from contextlib import ExitStack

from proofs.faults import one_node, rows, walk
from proofs.faults.fleet.amounts import AMOUNTS
from proofs.faults.fleet.patroni_pair import PatroniPair
from proofs.faults.fleet.site import Fleet
from proofs.faults.fleet.table import TABLE
from proofs.faults.rows import BOOKS, Row
from proofs.rig.checks import failed
from proofs.rig.proof import Run, prove, say, seed

OF_ONE_NODE = (6, 9, 10)
FAILOVER = 3


def main(run: Run) -> int:
    begun, chosen_seed, shown = time.monotonic(), seed(), list[Row]()
    if run.only is None or run.only in OF_ONE_NODE:
        shown += one_node.rows_of_one_node(run, random.Random(chosen_seed))
        run.figures |= rows.figures(shown, timed=run.judges_timings)
    if run.only not in OF_ONE_NODE:
        shown += rows_of_fleet(run, chosen_seed)
    if run.size == "full" or run.only == FAILOVER:
        shown += rows_under_patroni(run, random.Random(chosen_seed))
    wrong = [check for row in shown for check in failed(row.checks, timed=run.judges_timings)]
    run.figures |= rows.figures(shown, timed=run.judges_timings)
    run.figures["books"] = "broken" if any(check.name == BOOKS and not check.holds for check in wrong) else "clean"
    say(f"all of it took {time.monotonic() - begun:.0f} s")
    rows.print_table(shown, timed=run.judges_timings)
    return 1 if wrong else 0


def rows_of_fleet(run: Run, chosen_seed: int) -> list[Row]:
    amounts = AMOUNTS[run.size]
    shown = list[Row]()
    with ExitStack() as stack:
        begun = time.monotonic()
        fleet = Fleet(stack, keys=amounts.keys, chance=random.Random(chosen_seed))
        say(f"the fleet took {time.monotonic() - begun:.0f} s to start")
        for number, rows_of in TABLE.items():
            if run.only in (None, number):
                begun = time.monotonic()
                shown += rows_of(fleet, amounts)
                say(f"F{number} took {time.monotonic() - begun:.0f} s")
        if run.only in (None, walk.NUMBER):
            shown += walk.walk(fleet, random.Random(chosen_seed), seconds=walk.SECONDS[run.size])
    return shown


def rows_under_patroni(run: Run, chance: random.Random) -> list[Row]:
    """F3 once more: nobody promotes a standby but Patroni, when the lease of the dead one has run out."""
    amounts = AMOUNTS[run.size]
    with ExitStack() as stack:
        fleet = Fleet(stack, keys=amounts.keys // 4, chance=chance, pair=PatroniPair())
        return list(TABLE[FAILOVER](fleet, amounts))


if __name__ == "__main__":
    prove(main, *rows.FIGURES, *one_node.FIGURES, "books")
