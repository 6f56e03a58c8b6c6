"""The judge of free rides: what it lets pass, and what it does not."""

import msgspec
import pytest

from proofs.attacks.answers import AnswerForm, nothing
from proofs.attacks.charges import judge_calls, judge_ways
from proofs.attacks.made_and_charged import Evidence
from proofs.attacks.moments import Moment
from proofs.attacks.order_forms import OrderForm
from proofs.attacks.raw_call import Heard
from proofs.attacks.search import Tried
from proofs.attacks.ways import Try, Way
from proofs.rig.books import Receipt, Truth
from proofs.rig.customers import Customer
from proofs.rig.database import exact_charge
from proofs.rig.raw_calls import Leaving

PLAIN = AnswerForm(vendor="openai", directions="")
SILENT = AnswerForm(vendor="openai", directions="usage=no", reported=nothing)
LEFT_AT = 100.0


def a_call(
    *,
    charged: int,
    answer: AnswerForm = PLAIN,
    delivered: int = 0,
    made: int = 100,
    thought: int = 0,
    finished: bool = True,
) -> Evidence:
    """A call whose caller left when half of the answer was made, and the rest came a second later."""
    way = Way(number=1, order=OrderForm(stream=True, fields={}), answer=answer, moment=Moment.LATE)
    tried = Try(way=way, customer=Customer(1, "sk-"), sent=b"", leaving=Leaving(), asked_tokens=made)
    source = "provider" if answer is PLAIN and finished else "counted"
    quota = exact_charge(10, charged)
    moments = [(LEFT_AT, made // 2), (LEFT_AT + 1, made)]
    truth = Truth(
        request_id="r",
        input_tokens=10,
        output_tokens=made,
        thinking_tokens=thought,
        ending="finished" if finished else "client_closed",
        closed_at=0.0,
        made_at=moments,
    )
    return Evidence(
        tried=Tried(tried, Heard(status=200, words=delivered, left_at=LEFT_AT)),
        receipts=[Receipt("r", 1, 10, charged, source, "client_left", quota, 1)],
        truths=[truth],
        entered=quota,
    )


@pytest.mark.parametrize(
    ("call", "is_wrong"),
    [
        (a_call(charged=100), False),
        (a_call(charged=50, finished=False), False),
        (a_call(charged=60, delivered=50, answer=SILENT), False),
        (a_call(charged=40, delivered=50, answer=SILENT), True),
        (a_call(charged=40, delivered=50), True),
        (a_call(charged=92, delivered=500, thought=8, answer=SILENT), False),
        (a_call(charged=91, delivered=500, thought=8, answer=SILENT), True),
        (a_call(charged=92, delivered=500, thought=8), True),
        (a_call(charged=109, answer=SILENT), False),
        (a_call(charged=120, answer=SILENT), True),
        (a_call(charged=101), True),
    ],
)
def test_a_call_is_charged_what_was_delivered_or_reported_and_no_more_than_was_made(
    call: Evidence, is_wrong: bool
) -> None:
    assert bool(judge_calls([call])) == is_wrong


def test_charges_that_were_not_entered_are_wrong() -> None:
    call = a_call(charged=100)
    assert judge_calls([msgspec.structs.replace(call, entered=0)])


@pytest.mark.parametrize(("charged", "ratio"), [(50, 1.0), (25, 2.0), (0, float("inf"))])
def test_a_way_is_judged_by_what_was_made_until_half_a_second_after_its_callers_left(
    charged: int, ratio: float
) -> None:
    [verdict] = judge_ways([a_call(charged=charged, finished=False)] * 3)
    assert verdict.ratio == ratio


def test_a_report_that_was_charged_is_all_that_was_made() -> None:
    [verdict] = judge_ways([a_call(charged=100)])
    assert verdict.ratio == 1.0
