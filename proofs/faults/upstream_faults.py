"""F6: an upstream that is late, breaks off, lies, or talks nonsense; and what must come of each."""

import itertools
import random
from collections.abc import Sequence

import msgspec

from proofs.faults.evidence import Evidence
from proofs.faults.outcomes import Due, Outcome, Verdict, judge
from proofs.rig.answer import Tail
from proofs.rig.chat import Order
from proofs.rig.customers import Customer

# A hundredth of what they are, and the cut out of the way: it has a table of its own.
TIME_LIMITS = {
    "TOLLKEEPER_CUT_SECONDS": "30",
    # Long enough for three accounts to fail one after the other.
    "TOLLKEEPER_LONGEST_SECONDS": "12",
    "TOLLKEEPER_KEEP_ALIVE_SECONDS": "1",
    "TOLLKEEPER_FIRST_BYTE_SECONDS": "2.5",
    "TOLLKEEPER_PROVIDER_IDLE_SECONDS": "2.5",
}
AT_ONCE = 1_000
# A round of all faults in ten has the costly ones too: they are many megabytes each.
COSTLY_EVERY = 10

USUAL_AT_THE_END = 20

# What a caller sees, what the receipt says, and what is charged.
COMPLETE = Outcome(200, Tail.DONE, "completed", "provider", Due.TRUTH)
COUNTED = Outcome(200, Tail.DONE, "completed", "counted", Due.TRUTH)
FREE = Outcome(200, Tail.DONE, "completed", "provider", Due.NOTHING)
BROKEN = Outcome(200, Tail.ERROR, "upstream_broke", "counted", Due.DELIVERED)
REFUSED = Outcome(503, Tail.REFUSAL, "refused", "none", Due.NOTHING)
REFUSED_INSIDE = Outcome(200, Tail.ERROR, "refused", "none", Due.NOTHING)
REJECTED = Outcome(400, Tail.REFUSAL, "refused", "none", Due.NOTHING)
TOLD_BY_STATUS = (REFUSED, REJECTED)
ANSWERED = Outcome(200, Tail.ANSWER, "completed", "provider", Due.TRUTH)
ANSWERED_COUNTED = Outcome(200, Tail.ANSWER, "completed", "counted", Due.TRUTH)
ANSWERED_FREE = Outcome(200, Tail.ANSWER, "completed", "provider", Due.NOTHING)
OUT_OF_TIME = Outcome(503, Tail.REFUSAL, "time_limit", "counted_input", Due.INPUT)


class Fault(msgspec.Struct, frozen=True):
    """What the simulator is told to do, and what must come of it: streamed, and whole. None: there is no such case."""

    name: str
    directions: str
    streamed: Outcome | None
    whole: Outcome | None
    costly: bool = False


FAULTS = (
    Fault("none", "tokens=12", COMPLETE, ANSWERED),
    Fault("late by 30 s", "delay_ms=300", COMPLETE, ANSWERED),
    Fault("late, kept alive", "delay_ms=1500", COMPLETE, ANSWERED),
    Fault("never begins", "delay_ms=20000", REFUSED_INSIDE, OUT_OF_TIME),
    Fault("silent after the headers", "stall_at=0", REFUSED_INSIDE, REFUSED),
    Fault("stalled in the middle", "chunk_ms=5 stall_at=5", BROKEN, REFUSED),
    Fault("half-closed", "chunk_ms=5 half_close_at=5", BROKEN, REFUSED),
    Fault("half-closed after the headers", "half_close_at=0", REFUSED, REFUSED),
    Fault("reset in the middle", "chunk_ms=5 cut_at=5", BROKEN, REFUSED),
    Fault("no [DONE]", "no_done=true", COMPLETE, None),
    Fault("no reason to end", "no_finish=true", BROKEN, None),
    Fault("malformed event", "chunk_ms=5 malformed_at=5", BROKEN, None),
    Fault("malformed event first", "malformed_at=0", REFUSED, None),
    Fault("error event", "chunk_ms=5 error_at=5", BROKEN, None),
    Fault("error event first", "error_at=0", REFUSED, None),
    Fault("wrong length", "wrong_length=true", None, REFUSED),
    Fault("garbage", "json_garbage=true", REFUSED, REFUSED),
    Fault("drip", "tokens=3 drip=true", COMPLETE, ANSWERED),
    Fault("CRLF", "crlf=true", COMPLETE, None),
    Fault("comments", "comment=true", COMPLETE, None),
    Fault("long line", "long_line=500000", COMPLETE, ANSWERED),
    Fault("giant line", "long_line=9000000", REFUSED_INSIDE, ANSWERED, costly=True),
    Fault("absurd usage", "usage=absurd", COUNTED, ANSWERED_COUNTED),
    Fault("negative usage", "usage=negative", COUNTED, ANSWERED_COUNTED),
    Fault("huge usage", "usage=huge", COUNTED, ANSWERED_COUNTED),
    Fault("usage as text", "usage=string", COUNTED, ANSWERED_COUNTED),
    Fault("no usage", "usage=no", COUNTED, ANSWERED_COUNTED),
    Fault("zero usage", "usage=zero", FREE, ANSWERED_FREE),
    Fault("usage twice", "usage=twice", COMPLETE, ANSWERED),
    Fault("400", "status=400", REJECTED, REJECTED),
    Fault("401", "status=401", REFUSED, REFUSED),
    Fault("402", "status=402", REFUSED, REFUSED),
    # It is about what was asked: whoever is asked says it.
    Fault("403", "status=403", REJECTED, REJECTED),
    Fault("404", "status=404", REFUSED, REFUSED),
    Fault("413", "status=413", REJECTED, REJECTED),
    Fault("422", "status=422", REJECTED, REJECTED),
    Fault("429", "status=429 retry_after=1", REFUSED, REFUSED),
    Fault("500", "status=500", REFUSED, REFUSED),
    Fault("502", "status=502", REFUSED, REFUSED),
    Fault("503", "status=503", REFUSED, REFUSED),
    Fault("redirect", "redirect=http://127.0.0.1:9/v1", REFUSED, REFUSED),
    Fault("gzip bomb", "gzip_bomb=10000000", REFUSED, REFUSED, costly=True),
)
CASES = tuple(
    (fault, stream) for fault in FAULTS for stream in (True, False) if (fault.streamed if stream else fault.whole)
)


class Case(msgspec.Struct, frozen=True):
    fault: Fault
    order: Order


def cases(customers: Sequence[Customer], chance: random.Random) -> list[Case]:
    """Every fault in both forms, again and again, in an order of chance; at the end, calls as usual."""
    rounds = (
        (fault, stream)
        for number in itertools.count()
        for fault, stream in CASES
        if not fault.costly or number % COSTLY_EVERY == 0
    )
    chosen = list(itertools.islice(rounds, len(customers) - USUAL_AT_THE_END))
    chance.shuffle(chosen)
    chosen += itertools.islice(itertools.cycle(CASES[:2]), USUAL_AT_THE_END)
    return [
        Case(fault, Order(customer=customer, text=f"Say something. [[{fault.directions}]]", stream=stream))
        for customer, (fault, stream) in zip(customers, chosen, strict=True)
    ]


def judged(cases: Sequence[Case], evidence: Sequence[Evidence]) -> list[Verdict]:
    return [_judged(case.fault, one) for case, one in zip(cases, evidence, strict=True)]


def _judged(fault: Fault, evidence: Evidence) -> Verdict:
    stream = evidence.order.stream
    outcome = fault.streamed if stream else fault.whole
    assert outcome is not None
    if outcome in TOLD_BY_STATUS and evidence.heard.answer.kept_alive:
        # The machine was slow and a comment went first: the status line was gone.
        outcome = REFUSED_INSIDE
    return judge(evidence, f"{fault.name}, {'streamed' if stream else 'whole'}", outcome)
