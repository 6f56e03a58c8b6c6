"""The faults of the fleet, by number: scenarios, and rows that measure in a way of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from proofs.faults.fleet import clock, dry, pressure, soak, store_faults, storm
from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.scenario import Scenario, endure, row_of
from proofs.faults.fleet.site import Fleet
from proofs.faults.rows import Row

Rows = Callable[[Fleet, Amounts], Iterable[Row]]


def endured(scenarios: Callable[[Amounts], Sequence[Scenario]]) -> Rows:
    def rows(fleet: Fleet, amounts: Amounts) -> Iterator[Row]:
        for scenario in scenarios(amounts):
            yield row_of(scenario, endure(fleet, scenario))

    return rows


TABLE: Mapping[int, Rows] = {
    1: endured(store_faults.killed_workers),
    2: endured(store_faults.rolling_restarts),
    3: endured(store_faults.database_lost),
    4: endured(store_faults.database_silent),
    5: endured(store_faults.redis_lost),
    7: endured(storm.stormy_pool),
    8: endured(clock.jumping_clock),
    11: endured(dry.dry_account),
    12: pressure.raced,
    13: pressure.overloaded,
    14: pressure.slowly_read,
    15: soak.soaked,
}
