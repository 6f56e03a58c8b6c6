"""prove-faults: whatever dies, freezes, lies or leaves, every call ends, is charged once by its rule, and is not lost.

F1 to F15 of the fault table. F6, F9 and F10 are about single calls, on one node; the others about a fleet: two nodes of
two workers behind HAProxy, PostgreSQL with a synchronous standby, Redis under Sentinel, and providers that keep the
truth. Each ends with a books check and the join of what ledger, providers and callers say.
`make prove-faults ONLY=3` runs one fault alone; `SEED=…` repeats a run's choices.
"""

import random
import time
from collections.abc import Iterable
from contextlib import ExitStack

import msgspec

from proofs.faults import kept, one_node, rows, walk
from proofs.faults.fleet.amounts import AMOUNTS
from proofs.faults.fleet.patroni_pair import PatroniPair
from proofs.faults.fleet.scenario import endure, row_of
from proofs.faults.fleet.site import Fleet, far_host
from proofs.faults.fleet.store_faults import leader_cut_off
from proofs.faults.fleet.table import TABLE
from proofs.faults.rows import BOOKS, Row
from proofs.rig.checks import failed
from proofs.rig.proof import Run, prove, say, seed

OF_ONE_NODE = (6, 9, 10)
FAILOVER = 3
# One row alone needs a third of all keys at most.
KEYS_ALONE = 3


class Found:
    """Rows as they come: each is printed at once, counted in the last line, and in full size kept."""

    def __init__(self, run: Run, chosen_seed: int) -> None:
        self.rows: list[Row] = []
        self._run = run
        self._seed = chosen_seed

    def note(self, rows_found: Iterable[Row]) -> None:
        timed = self._run.judges_timings
        for row in rows_found:
            self.rows.append(row)
            rows.print_row(row, timed=timed)
            self._run.figures |= rows.figures(self.rows, timed=timed)
            if self._run.size == "full":
                kept.keep([row], seed=self._seed)


def main(run: Run) -> int:
    begun, chosen_seed = time.monotonic(), seed()
    found = Found(run, chosen_seed)
    if run.only is None or run.only in OF_ONE_NODE:
        found.note(one_node.rows_of_one_node(run, random.Random(chosen_seed)))
    if run.only not in OF_ONE_NODE:
        rows_of_fleet(run, chosen_seed, found)
    if run.only == FAILOVER or (run.size == "full" and run.only is None):
        rows_under_patroni(run, random.Random(chosen_seed), found)
    wrong = [check for row in found.rows for check in failed(row.checks, timed=run.judges_timings)]
    run.figures["books"] = "broken" if any(check.name == BOOKS and not check.holds for check in wrong) else "clean"
    say(f"all of it took {time.monotonic() - begun:.0f} s")
    rows.print_table(found.rows, timed=run.judges_timings)
    return 1 if wrong else 0


def rows_of_fleet(run: Run, chosen_seed: int, found: Found) -> None:
    amounts = AMOUNTS[run.size]
    with ExitStack() as stack:
        begun = time.monotonic()
        fleet = Fleet(stack, keys=_keys(run), chance=random.Random(chosen_seed))
        say(f"the fleet took {time.monotonic() - begun:.0f} s to start")
        for number, rows_of in TABLE.items():
            if run.only in (None, number):
                begun = time.monotonic()
                found.note(rows_of(fleet, amounts))
                say(f"F{number} took {time.monotonic() - begun:.0f} s")
        if run.only in (None, walk.NUMBER):
            found.note(walk.walk(fleet, random.Random(chosen_seed), seconds=walk.SECONDS[run.size]))


def rows_under_patroni(run: Run, chance: random.Random, found: Found) -> None:
    """F3 once more: nobody promotes a standby but Patroni, when the lease of the dead one has run out.

    Where a host can be cut off, that is done to the leader first.
    """
    amounts = AMOUNTS[run.size]
    with ExitStack() as stack:
        far = far_host()
        pair = PatroniPair(None if far is None else stack.enter_context(far))
        fleet = Fleet(stack, keys=amounts.keys // KEYS_ALONE, chance=chance, pair=pair)
        if far is not None:
            scenario = leader_cut_off(pair, amounts)
            found.note([row_of(scenario, endure(fleet, scenario))])
        found.note(
            msgspec.structs.replace(row, name=f"{row.name}, by Patroni") for row in TABLE[FAILOVER](fleet, amounts)
        )


def _keys(run: Run) -> int:
    return AMOUNTS[run.size].keys // (1 if run.only is None else KEYS_ALONE)


if __name__ == "__main__":
    prove(main, *rows.FIGURES, *one_node.FIGURES, "books")
