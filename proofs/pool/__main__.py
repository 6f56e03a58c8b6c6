"""prove-pool: half of the provider accounts fail and callers hardly notice (F7); what one node learns, both know.

Two nodes, ten provider accounts, stores of their own. A storm of 429 and 503 on five accounts under steady load; then
a refused key, answers that do not begin, news from node to node, and Redis away. Then two nodes of two workers each,
and conversations that stay at their accounts. The simulators keep the truth.
"""

import math
from contextlib import ExitStack

import uvloop

from proofs.pool.attempts import disagreements, receipts_of, tries_at
from proofs.pool.choosing import choose_us
from proofs.pool.conversations import CUSTOMERS, WORKERS, affinity
from proofs.pool.incidents import OWN_MODELS, Incidents
from proofs.pool.storm import Plan, endure, tell, tell_failures
from proofs.pool.two_nodes import ODD, TwoNodes
from proofs.rig.checks import Check, failed
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import Run, prove, say

SUCCESS_LEAST = 0.99
TRIES_MOST = 1.1
EJECT_SECONDS_MOST = 5.0
RETURN_SECONDS_MOST = 60.0
CHOOSE_US_MOST = 20.0

SIZES = {
    "small": Plan(per_second=150, calm_seconds=6, storm_seconds=12, back_seconds=RETURN_SECONDS_MOST),
    "full": Plan(per_second=500, calm_seconds=30, storm_seconds=60, back_seconds=RETURN_SECONDS_MOST),
}
# Calls of each conversation.
TURNS = {"small": 20, "full": 40}
# Enough that each calls seldom: who calls is no part of this proof.
CUSTOMERS_PER_CALL_A_SECOND = 2
EXAMPLES = 5


LAST_LINE = (
    *("storm_success", "tries_per_call", "eject_s", "return_s", "choose_us"),
    *("cache_hit_share", "busiest", "books"),
)


def main(run: Run) -> int:
    plan = SIZES[run.size]
    with ExitStack() as stack:
        say("starting two nodes, their stores, and the simulators of ten accounts")
        customers = round(plan.per_second * CUSTOMERS_PER_CALL_A_SECOND)
        site = TwoNodes(stack, customers=customers, own_models=OWN_MODELS)
        checks = uvloop.run(checked(site, plan, run))
        books_clean = books_are_clean(site.settings)
    with ExitStack() as stack:
        say("starting two nodes of two workers each, for conversations")
        site = TwoNodes(stack, customers=CUSTOMERS, workers=WORKERS)
        checks += uvloop.run(affinity(site, TURNS[run.size], run.figures))
        books_clean = books_clean and books_are_clean(site.settings)
    run.figures["books"] = "clean" if books_clean else "broken"
    checks.append(Check("the books are clean", books_clean))
    return 1 if failed(checks, timed=run.judges_timings) else 0


async def checked(site: TwoNodes, plan: Plan, run: Run) -> list[Check]:
    storm = await endure(site, plan)
    tell(storm)
    ejected, returned = storm.eject_seconds(), storm.return_seconds()
    say(f"out after so many seconds: {ejected}; back after: {returned}")
    success, eject_s = math.floor(storm.success * 10_000) / 10_000, round(max(ejected.values()), 2)
    return_s = round(max(seconds if seconds is not None else plan.back_seconds for seconds in returned.values()), 2)
    run.figures |= {"storm_success": success, "eject_s": eject_s, "return_s": return_s}
    incidents = Incidents(site)
    await incidents.happen()

    placed = [*storm.placed, *incidents.placed]
    receipts = await receipts_of(site.settings, placed)
    tell_failures(storm, receipts)
    wrong = list(disagreements(placed, receipts, tries_at(site.simulators | {ODD: site.odd})))
    for request_id, problem in wrong[:EXAMPLES]:
        say(f"WRONG {request_id}: {problem}")
    attempts = sum(len(receipts[one.request_id].attempts) for one in storm.placed if one.request_id in receipts)
    say(f"{len(storm.placed):,} calls, {attempts:,} attempts, {len(incidents.placed)} calls in incidents")
    tries_per_call, choosing_us = round(attempts / len(storm.placed), 4), round(choose_us(), 1)
    run.figures |= {"tries_per_call": tries_per_call, "choose_us": choosing_us}
    never = [name for name, seconds in returned.items() if seconds is None]
    return [
        *incidents.checks,
        Check("every account comes back", not never, ", ".join(never)),
        Check("ledger = truth for every call", not wrong, f"{len(wrong)} calls"),
        Check("enough callers were answered", success >= SUCCESS_LEAST, str(success)),
        Check("few calls were tried again", tries_per_call <= TRIES_MOST, str(tries_per_call)),
        Check("out in time", eject_s <= EJECT_SECONDS_MOST, f"{eject_s} s", timed=True),
        Check("back in time", return_s <= RETURN_SECONDS_MOST, f"{return_s} s", timed=True),
        Check("choosing is cheap", choosing_us <= CHOOSE_US_MOST, f"{choosing_us} µs", timed=True),
    ]


if __name__ == "__main__":
    prove(main, *LAST_LINE)
