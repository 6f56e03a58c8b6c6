"""Judging media calls: what was answered, against the books and the simulator's truth."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from proofs.media.acts import MediaAct
from proofs.media.case import Case
from proofs.media.hostile import SECONDS_LEAST
from proofs.media.hostile_storm import GROWTH_BYTES_MOST, Storm
from proofs.media.http_call import Answer
from proofs.rig.checks import Check
from proofs.rig.patience import patience
from proofs.rig.sdks.judge import Evidence, Receipt, every_act_went_well, named, nothing_was_sent_twice
from tools.simulator import TruthRow

SECOND_COSTS = 50_000_000
HOSTILE_ANSWERED_WITHIN_SECONDS = 30


def judge_sdks(evidence: Evidence, sdks: Sequence[str], truth: Sequence[TruthRow]) -> Iterator[Check]:
    """By what the SDKs say, by the call log, and by what each act cost."""
    played = msgspec.structs.replace(evidence, parts=[part for part in evidence.parts if part.player in sdks])
    yield from every_act_went_well(played)
    yield from nothing_was_sent_twice(played)
    fields = {row["request_id"]: set(row["fields"].split(",")) for row in truth}
    for part in played.parts:
        if part.key_id is None:
            continue
        assert isinstance(part.act, MediaAct)
        paid = [receipt.charged for receipt in evidence.receipts if receipt.key_id == part.key_id]
        holds = len(paid) == part.act.upstream_calls and sum(paid) == part.act.charged
        yield Check(f"{named(part)}: charge", holds, f"charged {paid}, expected {part.act.charged} in all")
        passed = [fields.get(call.request_id, set()) for call in played.calls_of(part)]
        missing = [part.act.fields - each for each in passed if part.act.fields - each]
        yield Check(f"{named(part)}: options", not missing, f"the provider did not get {missing}")


def judge_cases(
    outcomes: Sequence[tuple[Case, Answer]], receipts: Mapping[str, Receipt], truth: Sequence[TruthRow]
) -> Iterator[Check]:
    """Each was answered as asked, went upstream once, and cost what it must."""
    sent = Counter(row["request_id"] for row in truth)
    for case, answer in outcomes:
        receipt = receipts.get(answer.request_id)
        booked = (receipt.input_units, receipt.charged) if receipt else None
        wrong = problem_with(case, answer)
        holds = booked == (case.units, case.charged) and sent[answer.request_id] == 1 and not wrong
        expected = f"expected {case.units} units, {case.charged}"
        yield Check(case.name, holds, f"{expected}; booked {booked}, sent {sent[answer.request_id]} times, {wrong}")


def problem_with(case: Case, answer: Answer) -> str:
    """What is wrong with an answer, if something is."""
    if answer.status != 200:
        return str(answer)
    try:
        case.check(answer)
    except (AssertionError, KeyError, ValueError) as problem:
        return f"{problem!r} in {answer}"
    return ""


def judge_storm(storm: Storm, receipts: Mapping[str, Receipt]) -> Iterator[Check]:
    for name, answer in storm.answers:
        receipt = receipts.get(answer.request_id)
        holds = is_in_bounds(answer) and is_fairly_booked(answer, receipt, SECONDS_LEAST.get(name, 1))
        yield Check(f"hostile: {name}", holds, f"{answer}, {receipt}")
    failed = [answer for answer in storm.chats if answer.status != 200]
    yield Check("chats beside hostile uploads", not failed, f"{len(failed)} failed: {failed[:1]}")
    has_room = storm.growth_bytes <= GROWTH_BYTES_MOST
    yield Check("memory after hostile uploads", has_room, f"grown by {storm.growth_bytes:,} bytes")
    yield Check("playlists lead nowhere", not storm.strangers_called, "somebody called the address in one")


def is_in_bounds(answer: Answer) -> bool:
    """Served, refused or put off, and soon."""
    put_off = answer.status == 503 and "retry-after" in answer.headers
    told = answer.status == 200 or 400 <= answer.status < 500 or put_off
    return told and answer.seconds <= patience(HOSTILE_ANSWERED_WITHIN_SECONDS)


def is_fairly_booked(answer: Answer, receipt: Receipt | None, seconds_least: int) -> bool:
    """What was served costs its seconds, what was not costs nothing."""
    if answer.status != 200 or receipt is None:
        return answer.status != 200 and (receipt is None or receipt.charged == 0)
    return receipt.charged == SECOND_COSTS * receipt.input_units and receipt.input_units >= seconds_least
