"""The scenarios of the fleet, by the number of their fault."""

from collections.abc import Callable, Mapping, Sequence

from proofs.faults.fleet import store_faults
from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.scenario import Scenario

SCENARIOS: Mapping[int, Callable[[Amounts], Sequence[Scenario]]] = {
    1: store_faults.killed_workers,
    2: store_faults.rolling_restarts,
    3: store_faults.database_lost,
    4: store_faults.database_silent,
    5: store_faults.redis_lost,
}
