"""prove-pool: half of the provider accounts fail and callers hardly notice (F7); what one node learns, both know.

Two nodes, ten provider accounts, stores of their own. A storm of 429 and 503 on five accounts under steady load; then
a refused key, answers that do not begin, news from node to node, and Redis away. The simulators keep the truth.
"""

import math
import sys
from collections.abc import Sequence
from contextlib import ExitStack

import msgspec
import uvloop

from tools.node import tollkeeper
from tools.proofs import conclude, judges_timings, say, size
from tools.proofs.pool_rig.choosing import choose_us
from tools.proofs.pool_rig.evidence import disagreements, receipts_of, tries_at
from tools.proofs.pool_rig.incidents import OWN_MODELS, Check, Incidents
from tools.proofs.pool_rig.rig import ODD, Rig
from tools.proofs.pool_rig.storm import Plan, endure, tell, tell_failures

SUCCESS_LEAST = 0.99
TRIES_MOST = 1.1
EJECT_SECONDS_MOST = 5.0
RETURN_SECONDS_MOST = 60.0
CHOOSE_US_MOST = 20.0

SIZES = {
    "small": Plan(per_second=150, calm_seconds=6, storm_seconds=12, back_seconds=RETURN_SECONDS_MOST),
    "full": Plan(per_second=500, calm_seconds=30, storm_seconds=60, back_seconds=RETURN_SECONDS_MOST),
}
# Enough that each calls seldom: who calls is no part of this proof.
CUSTOMERS_PER_CALL_A_SECOND = 2
EXAMPLES = 5


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    storm_success: float
    tries_per_call: float
    eject_s: float
    return_s: float
    choose_us: float
    books: str


def main() -> int:
    chosen = size()
    plan = SIZES[chosen]
    with ExitStack() as stack:
        say("starting two nodes, their stores, and the simulators of ten accounts")
        customers = round(plan.per_second * CUSTOMERS_PER_CALL_A_SECOND)
        rig = Rig(stack, customers=customers, own_models=OWN_MODELS)
        figures, checks = uvloop.run(prove(rig, plan))
        books = tollkeeper(rig.settings, "books", "check")
    checks.append(Check("the books are clean", books.returncode == 0, books.stdout + books.stderr))
    figures = msgspec.structs.replace(figures, books="clean" if books.returncode == 0 else "broken")
    return verdict(figures, checks, timed=judges_timings(chosen))


async def prove(rig: Rig, plan: Plan) -> tuple[Figures, list[Check]]:
    storm = await endure(rig, plan)
    tell(storm)
    ejected, returned = storm.eject_seconds(), storm.return_seconds()
    say(f"out after so many seconds: {ejected}; back after: {returned}")
    incidents = Incidents(rig)
    await incidents.happen()

    placed = [*storm.placed, *incidents.placed]
    receipts = await receipts_of(rig.settings, placed)
    tell_failures(storm, receipts)
    wrong = list(disagreements(placed, receipts, tries_at(rig.simulators | {ODD: rig.odd})))
    for request_id, problem in wrong[:EXAMPLES]:
        say(f"WRONG {request_id}: {problem}")
    attempts = sum(len(receipts[one.request_id].attempts) for one in storm.placed if one.request_id in receipts)
    say(f"{len(storm.placed):,} calls, {attempts:,} attempts, {len(incidents.placed)} calls in incidents")
    figures = Figures(
        storm_success=math.floor(storm.success * 10_000) / 10_000,
        tries_per_call=round(attempts / len(storm.placed), 4),
        eject_s=round(max(ejected.values()), 2),
        return_s=round(max(seconds if seconds is not None else plan.back_seconds for seconds in returned.values()), 2),
        choose_us=round(choose_us(), 1),
        books="",
    )
    never = [name for name, seconds in returned.items() if seconds is None]
    return figures, [
        *incidents.checks,
        Check("every account comes back", not never, ", ".join(never)),
        Check("ledger = truth for every call", not wrong, f"{len(wrong)} calls"),
        Check("enough callers were answered", figures.storm_success >= SUCCESS_LEAST, str(figures.storm_success)),
        Check("few calls were tried again", figures.tries_per_call <= TRIES_MOST, str(figures.tries_per_call)),
        Check("out in time", figures.eject_s <= EJECT_SECONDS_MOST, f"{figures.eject_s} s", timed=True),
        Check("back in time", figures.return_s <= RETURN_SECONDS_MOST, f"{figures.return_s} s", timed=True),
        Check("choosing is cheap", figures.choose_us <= CHOOSE_US_MOST, f"{figures.choose_us} µs", timed=True),
    ]


def verdict(figures: Figures, checks: Sequence[Check], *, timed: bool) -> int:
    """Print the figures; 0 if everything held."""
    failed = [check for check in checks if not check.holds and (timed or not check.timed)]
    for check in failed:
        say(f"FAILED {check.name}: {check.detail}")
    conclude(msgspec.structs.asdict(figures))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
