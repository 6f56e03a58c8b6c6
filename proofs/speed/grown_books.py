"""What a call costs in full books, beside the same call in young ones.

The speed of a machine moves by a quarter within minutes, and books take minutes to grow, so that before and after
cannot be compared. Two nodes of the same code stand over stores of their own, one of which were filled beforehand, and
get the same load in short turns.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import msgspec

from proofs.rig.deployment import books_are_clean
from proofs.rig.measuring.measured_orders import whole
from proofs.rig.proof import say
from proofs.speed import growth
from proofs.speed.comparison import Turn, counted, gateway_us, in_turns, store_us, whole_us
from proofs.speed.contestants import CUSTOMERS, Stage, receipts, wait_for_receipts
from proofs.speed.paired import Compared, compared, table
from proofs.speed.rounds import Demand, Length
from proofs.speed.states import PRESENT, Standing, stand
from proofs.speed.timed_load import Measured

YOUNG, GROWN = "young", "grown"
# The first call of each customer reads what later ones find read.
WARM_UP = Length(1, 4)


class Books(msgspec.Struct, frozen=True):
    """What the books are grown to, and how long calls are made in them."""

    accounts: int
    rows: int
    turns: Length


class Found(msgspec.Struct, frozen=True):
    growth: Compared
    failures: list[str]


def compare(stage: Stage, asked: Books) -> Found:
    with ExitStack() as stack:
        young, grown = (stand(stack, stage.cores, name, PRESENT, stage.upstream) for name in (YOUNG, GROWN))
        young = msgspec.structs.replace(young, keys=growth.customers(young.node.settings, CUSTOMERS))
        with stage.cores.all_for(grown.beside["postgres"]):
            keys = growth.fill(grown.node.settings, accounts=asked.accounts, rows=asked.rows)
        grown = msgspec.structs.replace(grown, keys=keys)
        filled = receipts(grown.node.settings)
        demand = Demand(order=whole())
        warm_up = in_turns([young, grown], WARM_UP, demand)
        measured = in_turns([young, grown], asked.turns, demand)
        turns = [*warm_up, *measured]
        failures = [
            *_checked(young, 0, [turn[YOUNG] for turn in turns]),
            *_checked(grown, filled, [turn[GROWN] for turn in turns]),
        ]
    counting = counted(measured, asked.turns)
    in_all = _compared("growth", counting, whole_us)
    parts: dict[str, Callable[[Turn, str], float]] = {
        "gateway_us": gateway_us,
        "postgres_us": partial(store_us, "postgres"),
    }
    for line in table([in_all, *(_compared(name, counting, of) for name, of in parts.items())]):
        say(line)
    return Found(in_all, failures)


def _compared(name: str, turns: list[Turn], of: Callable[[Turn, str], float]) -> Compared:
    return compared(name, [(of(turn, YOUNG), of(turn, GROWN)) for turn in turns])


def _checked(party: Standing, filled: int, turns: list[Measured]) -> list[str]:
    """Each call has a receipt, and the books balance."""
    calls = sum(turn.calls_in_all for turn in turns)
    wait_for_receipts(party.node.settings, filled + calls)
    party.node.stop()
    found = receipts(party.node.settings) - filled
    say(f"{party.subject.name}: {calls} calls, {found} receipts")
    failures = [] if calls == found else [f"{calls} calls in {party.subject.name} books have {found} receipts"]
    if not books_are_clean(party.node.settings):
        failures.append(f"the {party.subject.name} books do not balance")
    return failures
