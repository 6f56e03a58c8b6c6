"""The cost: what a call costs a worker with limits, beside the same call without; the same load in turns on both."""

import statistics
from contextlib import ExitStack

import msgspec

from tools.node import Node
from tools.proofs import say
from tools.proofs.limits_rig.ground import Ground, Wish, furnish
from tools.proofs.limits_rig.site import Site
from tools.proofs.speed_rig.load import Measured, Plan
from tools.proofs.speed_rig.orders import whole
from tools.proofs.speed_rig.processes import require_alone
from tools.proofs.speed_rig.rounds import WARM_SECONDS, Length, run, told
from tools.proofs.speed_rig.stage import CONNECTIONS
from tools.services import Redis

OFF, ON = "free", "plenty"
GROUPS = {OFF: ("--key-rate", "none", "--rate", "none"), ON: ("--key-rate", "1000000", "--rate", "1000000")}
WISHES = {f"{group} {number}": Wish(group=group) for group in GROUPS for number in range(CONNECTIONS)}
WARM_UP = Length(1, 1)


class Cost(msgspec.Struct, frozen=True):
    """CPU time of the gateway's processes for each call."""

    off_us: float
    on_us: float
    added_us: float


def measure(stack: ExitStack, ground: Ground, length: Length) -> Cost:
    redis = stack.enter_context(Redis())
    site = Site(stack, ground, "cost", redis.url)
    customers = furnish(site.settings, ground.upstream, WISHES, GROUPS)
    [node] = site.more_nodes("measured", workers=1)
    assert node.process is not None
    require_alone(node.port, node.process.pid)
    keys = {
        group: [customer.key.text for name, customer in customers.items() if name.startswith(group)] for group in GROUPS
    }
    for group in GROUPS:
        _round(node, keys[group], group, WARM_UP.seconds)
    pairs = [
        {group: _round(node, keys[group], group, length.seconds) for group in _in_turn(number)}
        for number in range(length.rounds)
    ]
    spent = [{group: found.cpu_us_per_call(group) for group, found in pair.items()} for pair in pairs]
    return Cost(
        off_us=statistics.median(pair[OFF] for pair in spent),
        on_us=statistics.median(pair[ON] for pair in spent),
        added_us=statistics.median(pair[ON] - pair[OFF] for pair in spent),
    )


def _in_turn(number: int) -> list[str]:
    """Whoever is first in one pair is last in the next: what only time changes falls on both alike."""
    return [OFF, ON] if number % 2 else [ON, OFF]


def _round(node: Node, keys: list[str], name: str, seconds: float) -> Measured:
    assert node.process is not None
    order = whole()
    plan = Plan(
        port=node.port,
        connections=CONNECTIONS,
        keys=keys,
        body=order.body,
        events=order.events,
        warm_seconds=WARM_SECONDS,
        seconds=seconds,
        per_second=None,
        watched={name: node.process.pid},
    )
    found = run(plan)
    say(told(f"limits {name}", found))
    return found
