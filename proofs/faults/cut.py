"""F9: whole calls are cut on the main address, go on, and are charged once; nothing else is cut."""

import itertools
import random
from collections.abc import Sequence

import msgspec

from proofs.faults.evidence import Evidence
from proofs.faults.outcomes import Due, Outcome, Verdict, judge
from proofs.rig.answer import Tail
from proofs.rig.chat import Order
from proofs.rig.customers import Customer

# A twenty-fifth of what they are: a moment in which the machine stands still is less than a tenth of it.
CUT_SECONDS = 4.0
LONGEST_SECONDS = 12
TIME_LIMITS = {
    "TOLLKEEPER_CUT_SECONDS": str(CUT_SECONDS),
    "TOLLKEEPER_LONGEST_SECONDS": str(LONGEST_SECONDS),
    "TOLLKEEPER_KEEP_ALIVE_SECONDS": "0.3",
    "TOLLKEEPER_FIRST_BYTE_SECONDS": "8",
    "TOLLKEEPER_PROVIDER_IDLE_SECONDS": "9",
}
AT_ONCE = 800
MAIN, BACKUP = "main.test", "backup.test"
NEVER = f"delay_ms={LONGEST_SECONDS * 3000}"
# Longer than any cut, without a pause that would end it.
LONG_STREAM = f"tokens=25 chunk_ms={CUT_SECONDS * 60:.0f}"

ANSWERED = Outcome(200, Tail.ANSWER, "completed", "provider", Due.TRUTH)
CUT = Outcome(524, Tail.REFUSAL, "cut", "provider", Due.TRUTH)
CUT_FOR_NOTHING = Outcome(524, Tail.REFUSAL, "cut", "counted_input", Due.INPUT)
CUT_FOR_FREE = Outcome(524, Tail.REFUSAL, "refused", "none", Due.NOTHING)
OUT_OF_TIME = Outcome(503, Tail.REFUSAL, "time_limit", "counted_input", Due.INPUT)
STREAMED = Outcome(200, Tail.DONE, "completed", "provider", Due.TRUTH)


def at(share: float) -> str:
    """The whole answer comes at this share of the time until the cut."""
    return f"delay_ms={share * CUT_SECONDS * 1_000:.0f}"


class Wait(msgspec.Struct, frozen=True):
    """When the upstream answers, and what must come of it. Near the cut, either may win; then each is right in full."""

    name: str
    host: str
    directions: str
    outcome: Outcome
    otherwise: Outcome | None = None
    stream: bool = False


WAITS = (
    Wait("0.50 on main", MAIN, at(0.50), ANSWERED),
    Wait("0.90 on main", MAIN, at(0.90), ANSWERED),
    Wait("0.99 on main", MAIN, at(0.99), ANSWERED, otherwise=CUT),
    Wait("1.01 on main", MAIN, at(1.01), CUT, otherwise=ANSWERED),
    Wait("1.30 on main", MAIN, at(1.30), CUT),
    Wait("never on main", MAIN, NEVER, CUT_FOR_NOTHING),
    Wait("headers, then never on main", MAIN, "stall_at=0", CUT_FOR_NOTHING),
    Wait("half of it, then never on main", MAIN, "stall_at=5", CUT_FOR_NOTHING),
    Wait("reset at 1.30 on main", MAIN, f"{at(1.30)} cut_at=5", CUT_FOR_NOTHING),
    Wait("refused at 1.30 on main", MAIN, f"{at(1.30)} status=500", CUT_FOR_FREE),
    Wait("0.90 on backup", BACKUP, at(0.90), ANSWERED),
    Wait("0.99 on backup", BACKUP, at(0.99), ANSWERED),
    Wait("1.01 on backup", BACKUP, at(1.01), ANSWERED),
    Wait("1.30 on backup", BACKUP, at(1.30), ANSWERED),
    Wait("never on backup", BACKUP, NEVER, OUT_OF_TIME),
    Wait("stream that begins at 1.30 on main", MAIN, at(1.30), STREAMED, stream=True),
    Wait("stream of 1.50 on main", MAIN, LONG_STREAM, STREAMED, stream=True),
    Wait("stream of 1.50 on backup", BACKUP, LONG_STREAM, STREAMED, stream=True),
)


class Case(msgspec.Struct, frozen=True):
    wait: Wait
    order: Order


def cases(customers: Sequence[Customer], chance: random.Random) -> list[Case]:
    chosen = list(itertools.islice(itertools.cycle(WAITS), len(customers)))
    chance.shuffle(chosen)
    return [
        Case(
            wait,
            Order(customer=customer, text=f"Think long. [[{wait.directions}]]", stream=wait.stream, host=wait.host),
        )
        for customer, wait in zip(customers, chosen, strict=True)
    ]


def judged(cases: Sequence[Case], evidence: Sequence[Evidence]) -> list[Verdict]:
    return [_judged(case.wait, one) for case, one in zip(cases, evidence, strict=True)]


def cut_after_seconds(evidence: Sequence[Evidence]) -> list[float]:
    """How long each caller who was cut had waited."""
    return sorted(one.heard.seconds for one in evidence if one.heard.answer.status == 524)


def _judged(wait: Wait, evidence: Evidence) -> Verdict:
    answer, outcome = evidence.heard.answer, wait.outcome
    if wait.otherwise is not None and answer.status == wait.otherwise.status:
        outcome = wait.otherwise
    verdict = judge(evidence, wait.name, outcome)
    if answer.status == 524 and not _is_told_well(evidence):
        problems = (*verdict.problems, f"badly told: {evidence.heard}")
        return msgspec.structs.replace(verdict, problems=problems)
    return verdict


def _is_told_well(evidence: Evidence) -> bool:
    """Not before its time, with its code, and with the word to SDKs that sending it again would be paid again."""
    heard = evidence.heard
    return heard.seconds >= CUT_SECONDS and heard.answer.code == "edge_timeout" and heard.answer.says_not_to_retry
