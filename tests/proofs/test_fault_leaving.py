"""The judge of callers who leave: what it takes for right, and what it does not."""

import msgspec
import pytest

from proofs.faults import leaving
from proofs.faults.evidence import Evidence
from proofs.rig.answer import Answer, Tail
from proofs.rig.books import Receipt, Truth
from proofs.rig.chat import Heard, Order
from proofs.rig.customers import Customer
from proofs.rig.database import exact_charge
from proofs.rig.raw_calls import LeftAt

WHO = Customer(1, "sk-")
PRICE = exact_charge(19, 30)
MADE_WHOLE = Truth(request_id="r", input_tokens=19, output_tokens=30, ending="finished", closed_at=10.5)
IN_TIME = 0.3
HELD_UP = 0.9

IN_A_WHOLE_CALL = next(manner for manner in leaving.MANNERS if manner.name == "in a whole call")
IN_THE_MIDDLE = next(manner for manner in leaving.MANNERS if manner.name == "in the middle")
LATE_ANSWERS = pytest.mark.parametrize(
    "manner", [leaving.BEFORE_THE_FIRST_BYTE, IN_A_WHOLE_CALL], ids=lambda manner: manner.name
)


def a_case(manner: leaving.Manner) -> leaving.Case:
    return leaving.Case(manner, Order(customer=WHO, text="Say something.", stream=manner.stream))


def evidence(
    manner: leaving.Manner, ending: str, *, charged: int = PRICE, after_seconds: float = IN_TIME
) -> tuple[leaving.Case, Evidence]:
    """Of a caller who had left after that time, and heard nothing; the provider made all of the answer."""
    case = a_case(manner)
    receipt = Receipt("r", WHO.key_id, 19, 30, "provider", ending, charged, 1, 2 * PRICE)
    heard = Heard(answer=Answer(tail=Tail.NOTHING), seconds=after_seconds, left_at=LeftAt(10.0, 10.0))
    return case, Evidence(order=case.order, heard=heard, receipts=[receipt], truths=[MADE_WHOLE], entered=charged)


def problems(case: leaving.Case, found: Evidence) -> tuple[str, ...]:
    [verdict] = leaving.judged([case], [found])
    return verdict.problems


@LATE_ANSWERS
@pytest.mark.parametrize("ending", ["client_left", "completed"])
def test_an_answer_that_was_whole_before_its_leaver_was_noticed_costs_what_was_made(
    manner: leaving.Manner, ending: str
) -> None:
    assert problems(*evidence(manner, ending)) == ()
    assert problems(*evidence(manner, ending, charged=PRICE - 1))
    assert problems(*evidence(manner, ending, charged=0))


def test_a_stream_that_was_left_in_its_middle_is_not_completed() -> None:
    assert problems(*evidence(IN_THE_MIDDLE, "completed"))


@LATE_ANSWERS
def test_leavers_who_were_not_noticed_are_counted(manner: leaving.Manner) -> None:
    found = [
        evidence(manner, "completed"),
        evidence(manner, "client_left"),
        # Who was itself held up by the machine may have left after the answer.
        evidence(manner, "completed", after_seconds=HELD_UP),
    ]
    assert leaving.unnoticed([case for case, _ in found], [one for _, one in found]) == 1


def test_a_caller_who_stayed_is_not_counted_among_leavers() -> None:
    case, left = evidence(leaving.BEFORE_THE_FIRST_BYTE, "completed")
    stayed = msgspec.structs.replace(left, heard=msgspec.structs.replace(left.heard, left_at=None))
    assert leaving.unnoticed([case], [stayed]) == 0
