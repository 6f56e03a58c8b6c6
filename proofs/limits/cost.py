"""The cost: what a call costs a worker with limits, beside the same call without.

Both take short turns on the same connections to the same worker, which has a core to itself. The other
cores are never idle: two that are halves of one slow each other down, and Redis at work beside the worker would be
taken for work of the worker's own.
"""

import math
import statistics
import subprocess
import sys
from contextlib import ExitStack

import msgspec

from proofs.limits.shared_stores import SharedStores, Wish, furnish
from proofs.limits.site import Site
from proofs.limits.turns import Pair, Plan, Turn
from proofs.rig.measuring.cores import split
from proofs.rig.measuring.measured_orders import whole
from proofs.rig.measuring.processes import require_alone
from proofs.rig.patience import patience
from proofs.rig.proof import say
from tools.services import Redis

CONNECTIONS = 64
OFF, ON = "free", "plenty"
GROUPS = {OFF: ("--key-rate", "none", "--rate", "none"), ON: ("--key-rate", "1000000", "--rate", "1000000")}
WISHES = {f"{group} {number}": Wish(group=group) for group in GROUPS for number in range(CONNECTIONS)}
WARM_SECONDS = 3.0
TURN_SECONDS = 0.12
PATIENCE_SECONDS = 120.0


class Cost(msgspec.Struct, frozen=True):
    """CPU time of the gateway's processes for each call: medians over all turns, and over the differences of pairs."""

    off_us: float
    on_us: float
    added_us: float
    # Between which the median difference is, 19 times of 20.
    least_us: float
    most_us: float
    # All time over all calls: with what is rare and dear, which medians do not see.
    added_in_all_us: float
    calls: int


def measure(stack: ExitStack, turns: int) -> Cost:
    cores = stack.enter_context(split())
    stores, redis = SharedStores(stack), stack.enter_context(Redis())
    site = Site(stack, stores, "cost", redis.url)
    customers = furnish(site.settings, stores.upstream, WISHES, GROUPS)
    with cores.start_measured():
        [node] = site.more_nodes("measured", workers=1)
    assert node.process is not None
    require_alone(node.port, node.process.pid)
    order = whole()
    plan = Plan(
        port=node.port,
        pid=node.process.pid,
        connections=CONNECTIONS,
        body=order.body,
        keys={
            group: [customer.key.text for name, customer in customers.items() if name.startswith(group)]
            for group in GROUPS
        },
        warm_seconds=WARM_SECONDS,
        turns=turns,
        turn_seconds=TURN_SECONDS,
    )
    with cores.others_never_idle():
        pairs = _run(plan)
    cores.require_measured(node.process.pid)
    return _cost(pairs)


def _run(plan: Plan) -> list[Pair]:
    say(f"{plan.turns} turns each, without limits and with them")
    done = subprocess.run(
        [sys.executable, "-m", "proofs.limits.turns"],
        input=msgspec.json.encode(plan),
        stdout=subprocess.PIPE,
        # As much again for what changes from turn to turn.
        timeout=patience(PATIENCE_SECONDS) + 8 * plan.turns * plan.turn_seconds,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=list[Pair])


def _cost(pairs: list[Pair]) -> Cost:
    differences = sorted(pair[ON].cpu_us_per_call - pair[OFF].cpu_us_per_call for pair in pairs)
    # Of so many, how far from the middle a median may have come by chance.
    apart = round(0.98 * math.sqrt(len(differences)))
    middle = len(differences) // 2
    return Cost(
        off_us=statistics.median(pair[OFF].cpu_us_per_call for pair in pairs),
        on_us=statistics.median(pair[ON].cpu_us_per_call for pair in pairs),
        added_us=statistics.median(differences),
        least_us=differences[max(0, middle - apart)],
        most_us=differences[min(len(differences) - 1, middle + apart)],
        added_in_all_us=_in_all([pair[ON] for pair in pairs]) - _in_all([pair[OFF] for pair in pairs]),
        calls=sum(turn.calls for pair in pairs for turn in pair.values()),
    )


def _in_all(turns: list[Turn]) -> float:
    return sum(turn.cpu_us_per_call * turn.calls for turn in turns) / sum(turn.calls for turn in turns)
