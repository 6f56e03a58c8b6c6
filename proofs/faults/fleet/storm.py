"""F7: a storm of 429 and 503 on half of the provider accounts. `prove-pool` measures each account of a larger pool."""

import time
from functools import partial

from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.callers import STREAM, WHOLE, Load
from proofs.faults.fleet.expect import nothing_said, served_share, tries_at_most
from proofs.faults.fleet.scenario import Fault, Scenario
from proofs.faults.fleet.site import Fleet
from proofs.rig.patience import came_true
from proofs.rig.proof import say

STORMY = "stormy"
BACK_WITHIN_SECONDS = 60.0
# Answered since the storm: so many are no trials.
BACK_WITH_CALLS = 30


def stormy_pool(amounts: Amounts) -> list[Scenario]:
    load = Load(per_second=2 * amounts.load.per_second, kinds=(WHOLE, STREAM))
    return [
        Scenario(
            number=7,
            name="a storm on half of the pool",
            load=load,
            faults=[
                Fault(name="503 of nine in ten", act=partial(_weather, kind="0.9:503"), after_calls=2 * amounts.calls),
                Fault(name="429 of nine in ten", act=partial(_weather, kind="0.9:429"), after_calls=5 * amounts.calls),
                Fault(name="calm", act=partial(_weather, kind=""), after_calls=5 * amounts.calls),
                Fault(name="(until all are back)", act=_come_back, after_calls=0),
            ],
            calls_after=amounts.calls,
            expects=[served_share(0.99), tries_at_most(amounts.tries_most), nothing_said],
        )
    ]


def _weather(fleet: Fleet, *, kind: str) -> None:
    fleet.simulators[STORMY].storm(kind)


def _come_back(fleet: Fleet) -> str:
    begun, since = time.monotonic(), time.time()

    def is_back() -> bool:
        return _answered(fleet, since) >= BACK_WITH_CALLS

    back = came_true(is_back, within_seconds=BACK_WITHIN_SECONDS)
    say(f"the accounts were back after {time.monotonic() - begun:.1f} s")
    return "" if back else "the accounts did not come back"


def _answered(fleet: Fleet, since: float) -> int:
    return sum(line["received_at"] >= since and line["status"] == 200 for line in fleet.simulators[STORMY].truth())
