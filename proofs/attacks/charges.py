"""Judging: each call by itself, and each way by the sum of its calls.

Rules of this file
1. A call is charged at least the provider's report or what was delivered, whichever is less, and at most the larger of
   what was made and what was reported.
2. Over all calls of a way, what was made is charged, but for a tenth. A report that has come is what the provider
   bills: beyond it nothing was made.
3. What reached the provider has one receipt; every receipt is of a call.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from proofs.attacks.made_and_charged import QUOTA_PER_OUTPUT_TOKEN, Evidence
from proofs.attacks.ways import Way
from proofs.rig.books import Receipt
from proofs.rig.database import exact_charge

# A count without a report may differ by so much: texts are counted where they are cut, not where they belong.
SLACK_TOKENS = 8
SLACK_PART = 10
# A little thinking, of an order that asks for it and an answer that does not say how much.
THOUGHTS_UNASKED = 64
# What a vendor seals its thoughts with (`signature`) is text that the truth does not know of.
SEAL_TOKENS = {"anthropic": 48}
UNBOUNDED = 10**9
EXAMPLES = 3


class WayVerdict(msgspec.Struct, frozen=True, kw_only=True):
    way: Way
    calls: int
    made: int
    charged: int
    example: str

    @property
    def ratio(self) -> float:
        if self.made <= 0:
            return 0.0
        return float(Fraction(self.made * QUOTA_PER_OUTPUT_TOKEN, self.charged)) if self.charged > 0 else float("inf")


class Wrong(msgspec.Struct, frozen=True):
    what: str
    way: Way
    detail: str
    # The caller heard the answer to its end: then no moment of leaving, and so no busy machine, is an excuse.
    stayed: bool


def due(evidence: Evidence) -> int:
    """The output that the caller owes for."""
    reported = evidence.reported
    last_made = evidence.truths[-1].output_tokens if evidence.truths else 0
    if reported is None or evidence.charged_tokens != reported:
        return evidence.made
    return evidence.made_in_all - last_made + min(reported, last_made)


def judge_ways(evidence: Sequence[Evidence]) -> list[WayVerdict]:
    """Worst first."""
    by_way = defaultdict(list)
    for one in evidence:
        if not one.tried.is_look:
            by_way[one.tried.tried.way.number].append(one)
    judged = [_way_verdict(calls) for calls in by_way.values()]
    return sorted(judged, key=lambda verdict: -verdict.ratio)


def _way_verdict(calls: Sequence[Evidence]) -> WayVerdict:
    worst = max(calls, key=lambda one: due(one) - one.charged_tokens)
    return WayVerdict(
        way=calls[0].tried.tried.way,
        calls=len(calls),
        made=sum(map(due, calls)),
        charged=sum(one.charged_quota for one in calls),
        example=described(worst),
    )


def described(one: Evidence) -> str:
    heard, receipt = one.tried.heard, one.receipts[0] if one.receipts else None
    told = f"{receipt.ending} by {receipt.usage_source}, {receipt.output_units} tokens" if receipt else "no receipt"
    sent = one.tried.tried.sent.partition(b"\r\n\r\n")[2][:600].decode("utf-8", "replace")
    return (
        f"made {one.made} (in all {one.made_in_all}, {[truth.ending for truth in one.truths]}), "
        f"charged {one.charged_tokens} ({told}), reported {one.reported}, delivered {heard.words} words in "
        f"{heard.size_bytes} bytes, status {heard.status} {heard.problem}; {one.tried.tried.leaving}; body {sent}"
    )


def judge_calls(evidence: Sequence[Evidence]) -> list[Wrong]:
    return [
        Wrong(what, one.tried.tried.way, f"{detail}: {described(one)}", one.tried.heard.left_at is None)
        for one in evidence
        for what, detail in _problems(one)
    ]


def tell_wrong(wrong: Sequence[Wrong]) -> Iterator[str]:
    for what, count in Counter(one.what for one in wrong).most_common():
        yield f"WRONG {what}: {count} calls"
        ways = Counter(one.way.name for one in wrong if one.what == what)
        for name, calls in ways.most_common(EXAMPLES):
            example = next(one for one in wrong if one.what == what and one.way.name == name)
            yield f"  {calls} of {name}; {example.detail}"


def _problems(one: Evidence) -> Iterator[tuple[str, str]]:
    heard = one.tried.heard
    if heard.hung:
        yield "no end", "hung"
    if len(one.receipts) == 1:
        yield from _problems_of_charge(one, one.receipts[0])
    elif one.receipts or heard.status == 200:
        # Refused orders have none, and a reset may discard a call before the gateway has read it.
        yield "not one receipt", str(len(one.receipts))


def _problems_of_charge(one: Evidence, receipt: Receipt) -> Iterator[tuple[str, str]]:
    if one.entered != receipt.charged:
        yield "entries differ", f"{one.entered} entered, {receipt.charged} on the receipt"
    if receipt.charged not in (0, exact_charge(receipt.input_units, receipt.output_units)):
        yield "not the price", f"{receipt.charged}"
    least, most = bounds(one)
    if one.charged_tokens < least:
        yield "charged less than delivered and reported", f"at least {least} due"
    if one.charged_tokens > most:
        yield "charged more than made and reported", f"at most {most} due"


def bounds(one: Evidence) -> tuple[int, int]:
    """The least and the most output tokens that this call may be charged for."""
    delivered, reported = one.tried.heard.words, one.reported
    # Some formats say everything several times; thoughts that are sealed are known by a report alone.
    said = one.made_in_all - sum(truth.thinking_tokens for truth in one.truths)
    least = min(delivered, one.made_in_all, said if reported is None else reported)
    most = max(one.made_in_all, reported or 0)
    way = one.tried.tried.way
    least -= way.answer.free_tokens * int(str(way.order.fields.get("n", 1)))
    if way.answer.reports_early:
        most = max(most, one.tried.tried.asked_tokens + THOUGHTS_UNASKED)
    if one.receipts[0].usage_source != "provider":
        slack = SLACK_TOKENS + most // SLACK_PART + SEAL_TOKENS.get(way.answer.vendor, 0)
        most = UNBOUNDED if way.answer.estimated else most + slack
    return least, most
