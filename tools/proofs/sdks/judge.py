"""Judging: what each SDK said, against the gateway's call log, the simulator's truth and the books."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tools.proofs.ledger_rig.ground import exact_charge
from tools.proofs.sdks.acts import ACTS, Act
from tools.proofs.sdks.casting import Part


class Verdict(msgspec.Struct, frozen=True):
    name: str
    holds: bool
    detail: str


class Said(msgspec.Struct, frozen=True):
    """One line of an SDK's script."""

    check: str
    ok: bool
    detail: str


class Call(msgspec.Struct, frozen=True):
    """One line of the gateway's call log."""

    request_id: str
    status: int
    key_id: int | None = None
    code: str = ""


class Truth(msgspec.Struct, frozen=True):
    """One line of the simulator's truth file."""

    request_id: str
    input_tokens: int
    output_tokens: int


class Receipt(msgspec.Struct, frozen=True):
    """One row of the usage log."""

    request_id: str
    key_id: int
    input_tokens: int
    output_tokens: int
    charged: int


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to judge by."""

    said: Mapping[str, Sequence[Said]]
    parts: Sequence[Part]
    calls: Sequence[Call]
    truths: Sequence[Truth]
    receipts: Sequence[Receipt]


def judge(evidence: Evidence) -> list[Verdict]:
    return [
        *every_act_went_well(evidence),
        *nothing_was_sent_twice(evidence),
        *every_charge_is_right(evidence),
    ]


def every_act_went_well(evidence: Evidence) -> Iterator[Verdict]:
    """By what the SDKs' own scripts say."""
    for sdk, lines in evidence.said.items():
        for name in ACTS:
            found = [line for line in lines if line.check == name]
            holds = len(found) == 1 and found[0].ok
            yield Verdict(f"{sdk}: {name}", holds, " ".join(line.detail for line in found) or "it said nothing")


def nothing_was_sent_twice(evidence: Evidence) -> Iterator[Verdict]:
    """Each act was one call to the gateway, with the status expected, and one call upstream or none."""
    upstream = Counter(truth.request_id for truth in evidence.truths)
    for part in evidence.parts:
        act = ACTS[part.act]
        calls = [call for call in evidence.calls if call.key_id == part.key_id]
        answers, tries = [(call.status, call.code) for call in calls], sum(upstream[call.request_id] for call in calls)
        holds = answers == [(act.status, act.code)] and tries == act.reaches_upstream
        yield Verdict(f"{part.sdk}: {part.act}: one call", holds, f"answered {answers}, {tries} upstream")
    # A wrong key is nobody's, so its calls are counted together.
    statuses = [call.status for call in evidence.calls if call.code == ACTS["wrong key"].code]
    yield Verdict("wrong key: one call from each", statuses == [401] * len(evidence.said), f"statuses {statuses}")


def every_charge_is_right(evidence: Evidence) -> Iterator[Verdict]:
    """Each call upstream has one receipt, with the truth's tokens at the model's price; nothing else has one."""
    truths = {truth.request_id: truth for truth in evidence.truths}
    sent = Counter(truth.request_id for truth in evidence.truths)
    billed = Counter(receipt.request_id for receipt in evidence.receipts)
    yield Verdict(
        "one receipt for each call upstream", sent == billed, f"unpaid {sent - billed}, unsent {billed - sent}"
    )
    parts = {part.key_id: part for part in evidence.parts}
    for receipt in evidence.receipts:
        part, truth = parts[receipt.key_id], truths.get(receipt.request_id)
        holds = truth is not None and is_right(receipt, truth, ACTS[part.act])
        yield Verdict(f"{part.sdk}: {part.act}: charge", holds, f"{receipt}, {truth}")


def is_right(receipt: Receipt, truth: Truth, act: Act) -> bool:
    if receipt.charged != exact_charge(receipt.input_tokens, receipt.output_tokens):
        return False
    if act.breaks_off:
        # A reset may swallow what was sent just before it: what arrived is charged, and no more.
        return receipt.input_tokens == truth.input_tokens and 0 < receipt.output_tokens <= truth.output_tokens
    return (receipt.input_tokens, receipt.output_tokens) == (truth.input_tokens, truth.output_tokens)
