"""F10: callers who leave, at a random byte or moment, and what they are charged."""

import random
from collections.abc import Sequence

import msgspec

from proofs.faults.bench import MODEL, THINKER
from proofs.faults.evidence import Evidence
from proofs.faults.outcomes import Due, Outcome, Verdict, judge
from proofs.rig.answer import Tail
from proofs.rig.books import Truth
from proofs.rig.chat import Order
from proofs.rig.customers import Customer
from proofs.rig.raw_calls import Leaving
from tollkeeper_simulator.order import read_order
from tollkeeper_simulator.tokens import count_input

AT_ONCE = 400
ON_A_COLD_NODE = 60
STREAM = "tokens=30 chunk_ms=10"
# About what such a stream has, with its head and frames: some callers leave in the head, some after the last word.
STREAM_BYTES = 8_500
# One that goes on for longer than what is under way is counted.
LONG_STREAM = "tokens=120 chunk_ms=10"
LATE_SECONDS = 0.4
LATE = f"tokens=30 delay_ms={LATE_SECONDS * 1_000:.0f}"

LEFT = Outcome(None, None, "client_left", "counted", Due.RECEIVED)
NEVER_SENT = Outcome(None, None, "refused", "none", Due.NOTHING)
LEFT_BEFORE_OUTPUT = Outcome(None, None, "client_left", "counted_input", Due.INPUT)
HEARD_OUT = Outcome(None, None, "client_left", "provider", Due.TRUTH)
COMPLETE = Outcome(None, None, "completed", "provider", Due.TRUTH)


class Manner(msgspec.Struct, frozen=True):
    """What is asked, when the caller leaves, and in which ways the call may then have ended."""

    name: str
    share: float
    directions: str
    stream: bool
    model: str
    outcomes: tuple[Outcome, ...]
    # Whether the upstream is closed when the caller leaves, or heard to its end.
    closes_upstream: bool


# What a provider sends within half a second of leaving was under way, and may come to the end of the answer. A worker
# that stood still meanwhile finds both, the whole answer and that its caller has left, and may take the answer first.
BEFORE_THE_FIRST_BYTE = Manner(
    "before the first byte", 0.1, LATE, True, MODEL, (LEFT_BEFORE_OUTPUT, LEFT, HEARD_OUT, COMPLETE), True
)
MANNERS = (
    Manner("in the middle", 0.4, LONG_STREAM, True, MODEL, (LEFT, LEFT_BEFORE_OUTPUT, HEARD_OUT), True),
    Manner("near the end", 0.3, STREAM, True, MODEL, (LEFT, LEFT_BEFORE_OUTPUT, HEARD_OUT, COMPLETE), True),
    BEFORE_THE_FIRST_BYTE,
    Manner("in a whole call", 0.1, LATE, False, MODEL, (HEARD_OUT, COMPLETE), False),
    Manner("while a thinker spoke", 0.1, STREAM, True, THINKER, (HEARD_OUT, COMPLETE), False),
)


class Case(msgspec.Struct, frozen=True):
    manner: Manner
    order: Order


def cases(customers: Sequence[Customer], chance: random.Random) -> list[Case]:
    """First those for a node that has only just begun, and still looks up what it needs before it can send."""
    chosen = [BEFORE_THE_FIRST_BYTE] * ON_A_COLD_NODE
    chosen += chance.choices(MANNERS, [manner.share for manner in MANNERS], k=len(customers) - ON_A_COLD_NODE)
    return [Case(manner, _order(manner, customer, chance)) for customer, manner in zip(customers, chosen, strict=True)]


def _order(manner: Manner, customer: Customer, chance: random.Random) -> Order:
    by_reset = chance.random() < 0.5
    if manner.directions is LATE:
        # Mostly early: while the call is read, held for, sent.
        leaving = Leaving(after_seconds=0.0005 + 0.8 * LATE_SECONDS * chance.random() ** 3, by_reset=by_reset)
    else:
        leaving = Leaving(after_bytes=chance.randint(1, STREAM_BYTES), by_reset=by_reset)
    text = f"Say something. [[{manner.directions}]]"
    return Order(customer=customer, text=text, stream=manner.stream, model=manner.model, leaving=leaving)


def judged(cases: Sequence[Case], evidence: Sequence[Evidence]) -> list[Verdict]:
    return [_judged(case.manner, one) for case, one in zip(cases, evidence, strict=True)]


class Closing(msgspec.Struct, frozen=True, order=True):
    """How long after its caller had left a call's upstream was closed, and when that was, in Unix seconds."""

    seconds: float
    left_at: float
    closed_at: float


def closings(cases: Sequence[Case], evidence: Sequence[Evidence]) -> list[Closing]:
    """Of the calls whose upstream had not said all before. The slowest is last."""
    return sorted(
        Closing(one.truths[0].closed_at - one.heard.left_at.unix, one.heard.left_at.unix, one.truths[0].closed_at)
        for case, one in zip(cases, evidence, strict=True)
        if case.manner.closes_upstream
        and one.heard.left_at is not None
        and one.truths
        and one.truths[0].ending == "client_closed"
    )


def unheard(evidence: Sequence[Evidence]) -> int:
    """How many calls were reset before the gateway had read them."""
    return sum(not one.receipts for one in evidence)


def given_up(evidence: Sequence[Evidence]) -> int:
    """How many calls were on the wire when their callers left, and never arrived at the simulator."""
    return sum(not one.truths and _was_on_the_wire(one) for one in evidence)


def unnoticed(cases: Sequence[Case], evidence: Sequence[Evidence]) -> int:
    """How many answers were completed for callers who had left before any of it could come. Their charge is the same as
    when that is noticed; but a gateway that is not held up by the machine does notice."""
    return sum(
        case.manner.directions is LATE
        and one.heard.left_at is not None
        and one.heard.seconds < LATE_SECONDS
        and any(receipt.ending == COMPLETE.ending for receipt in one.receipts)
        for case, one in zip(cases, evidence, strict=True)
    )


def _was_on_the_wire(evidence: Evidence) -> bool:
    return any(receipt.ending == LEFT_BEFORE_OUTPUT.ending for receipt in evidence.receipts)


def _judged(manner: Manner, evidence: Evidence) -> Verdict:
    """By the first of the possible outcomes that fits its receipt; by the first of all where none does."""
    if evidence.heard.left_at is None:
        # The answer came to its end before it was time to leave.
        return judge(evidence, f"not left {manner.name}", COMPLETE)
    heard_nothing = evidence.heard.answer.tail is Tail.NOTHING
    if heard_nothing and not (evidence.receipts or evidence.truths or evidence.entered):
        # It left no trace anywhere: not with its caller, not at the provider, not in the books. A reset, for one,
        # discards what the gateway has not read yet.
        return Verdict(name=manner.name, problems=(), unbilled=False, hung=False, diff=0)
    if not evidence.truths:
        return _judged_unseen(manner, evidence)
    told = [(receipt.ending, receipt.usage_source) for receipt in evidence.receipts]
    fitting = [outcome for outcome in manner.outcomes if (outcome.ending, outcome.usage_source) in told]
    return judge(evidence, f"left {manner.name}", (fitting or manner.outcomes)[0])


def _judged_unseen(manner: Manner, evidence: Evidence) -> Verdict:
    """A call that never reached the simulator costs nothing, unless it was on the wire: who then has it is unknown."""
    request_id = next((receipt.request_id for receipt in evidence.receipts), "")
    input_tokens = count_input(read_order(evidence.order.body()))
    unseen = Truth(
        request_id=request_id, input_tokens=input_tokens, output_tokens=0, ending="never arrived", closed_at=0.0
    )
    outcome = LEFT_BEFORE_OUTPUT if _was_on_the_wire(evidence) else NEVER_SENT
    return judge(msgspec.structs.replace(evidence, truths=[unseen]), f"left {manner.name}, unseen", outcome)
