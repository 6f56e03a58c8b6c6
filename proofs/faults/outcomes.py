"""Judging one call: what its caller heard, its receipt and its charge, against what must come of its fault."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from proofs.faults.evidence import Evidence
from proofs.rig.answer import Tail
from proofs.rig.books import Receipt, Truth
from proofs.rig.database import exact_charge
from proofs.rig.proof import say

T = TypeVar("T")


class Due(StrEnum):
    """How the charge follows from the truth."""

    TRUTH = "input and output as the simulator counted them"
    DELIVERED = "input, and the output that the caller was given"
    RECEIVED = "input, and at least the output that reached the caller, at most what the simulator sent"
    INPUT = "input alone"
    NOTHING = "nothing"


class Outcome(msgspec.Struct, frozen=True):
    """What must come of a call. A caller who left saw no end of it: no status and no tail."""

    status: int | None
    tail: Tail | None
    ending: str
    usage_source: str
    due: Due


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """On one call; without problems it went as it must."""

    name: str
    problems: tuple[str, ...]
    # Those that have no receipt at all are counted apart.
    unbilled: bool
    hung: bool
    diff: int
    # 0 where the caller saw none.
    status: int = 0


def judge(evidence: Evidence, name: str, outcome: Outcome) -> Verdict:
    receipt = _only(evidence.receipts)
    return Verdict(
        name=name,
        problems=tuple(_problems(evidence, outcome)),
        unbilled=receipt is not None and receipt.charged == 0 and outcome.due is not Due.NOTHING,
        hung=evidence.heard.hung,
        diff=_difference(evidence, outcome.due),
        status=evidence.heard.answer.status,
    )


def tell(verdicts: Sequence[Verdict]) -> None:
    """Say what was wrong: how often for each kind of call, and one of them in full."""
    wrong = [verdict for verdict in verdicts if verdict.problems]
    for name, count in Counter(verdict.name for verdict in wrong).most_common():
        example = next(verdict for verdict in wrong if verdict.name == name)
        say(f"WRONG {name}, {count:,} times; once: {'; '.join(example.problems)}")


def _problems(evidence: Evidence, outcome: Outcome) -> Iterator[str]:
    heard, answer = evidence.heard, evidence.heard.answer
    if heard.hung:
        yield f"no end within {heard.seconds:.0f} s"
    if outcome.status is not None and (answer.status, answer.tail) != (outcome.status, outcome.tail):
        yield f"answered {answer}, not {outcome.status} with {outcome.tail}"
    receipt, truth = _only(evidence.receipts), _only(evidence.truths)
    if receipt is None or truth is None:
        yield f"{evidence.receipts}, {len(evidence.truths)} calls upstream, heard {heard}"
        return
    if answer.request_id not in {"", receipt.request_id}:
        yield f"answer {answer.request_id}, receipt {receipt.request_id}"
    if (receipt.ending, receipt.usage_source) != (outcome.ending, outcome.usage_source):
        yield f"{receipt.ending} by {receipt.usage_source}, not {outcome.ending} by {outcome.usage_source}"
    if not _is_due(evidence, receipt, truth, outcome.due):
        yield f"due is {outcome.due}: {receipt}, {truth}, {answer.words} words"


def _is_due(evidence: Evidence, receipt: Receipt, truth: Truth, due: Due) -> bool:
    """Whether the books have taken exactly the price of what is due."""
    if evidence.entered != receipt.charged or receipt.charged != exact_charge(
        receipt.input_units, receipt.output_units
    ):
        return False
    input_tokens, least, most = _due_tokens(evidence, truth, due)
    return receipt.input_units == input_tokens and least <= receipt.output_units <= most


def _due_tokens(evidence: Evidence, truth: Truth, due: Due) -> tuple[int, int, int]:
    """The input due, and the least and the most output."""
    words, sent = evidence.heard.answer.words, truth.output_tokens
    return {
        Due.TRUTH: (truth.input_tokens, sent, sent),
        Due.DELIVERED: (truth.input_tokens, words, min(words, sent)),
        Due.RECEIVED: (truth.input_tokens, words, sent),
        Due.INPUT: (truth.input_tokens, 0, 0),
        Due.NOTHING: (0, 0, 0),
    }[due]


def _difference(evidence: Evidence, due: Due) -> int:
    """By how much the books are off, in units of quota; within its bounds, what the receipt counts is right."""
    truth, receipt = _only(evidence.truths), _only(evidence.receipts)
    if truth is None:
        return evidence.entered
    input_tokens, least, most = _due_tokens(evidence, truth, due)
    output_tokens = least if receipt is None else max(least, min(most, receipt.output_units))
    return abs(evidence.entered - exact_charge(input_tokens, output_tokens))


def _only(items: Sequence[T]) -> T | None:
    return items[0] if len(items) == 1 else None
