"""The join of ledger, truth and callers: what it counts as lost, double, ghost, unknown or off."""

import pytest

from proofs.faults.fleet.callers import WHOLE, Placed, order_of
from proofs.faults.fleet.expect import all_served, back_within, no_stream_is_cut, refused_only_with
from proofs.faults.fleet.join import judge_call
from proofs.faults.fleet.scenario import Aftermath, Fault, Happened
from proofs.faults.fleet.soak import drawn
from proofs.faults.rows import Row, Tally, figures
from proofs.rig.answer import Answer, Tail
from proofs.rig.books import Books, Receipt, Truth
from proofs.rig.chat import Heard
from proofs.rig.checks import Check
from proofs.rig.customers import Customer
from proofs.rig.database import exact_charge

WHO = Customer(1, "sk-")
PRICE = exact_charge(10, 8)
SEEN = Truth(request_id="r", input_tokens=10, output_tokens=8, ending="finished", closed_at=1.0)
SERVED = Answer(status=200, request_id="r", words=8, tail=Tail.ANSWER)
REFUSED = Answer(status=503, request_id="r", tail=Tail.REFUSAL, code="store_unavailable")
NODE_LOST = Answer(status=502, tail=Tail.REFUSAL, code="node_lost")
BROKEN_OFF = Answer(status=200, request_id="r", tail=Tail.BROKEN_OFF)


def placed(answer: Answer, *, begun: float = 0.0, seconds: float = 0.1) -> Placed:
    return Placed(order=order_of(WHO, WHOLE), kind=WHOLE, begun=begun, heard=Heard(answer=answer, seconds=seconds))


def a_receipt(*, charged: int = PRICE, ending: str = "completed", request_id: str = "r") -> Receipt:
    return Receipt(request_id, WHO.key_id, 10, 8, "provider", ending, charged, 1, 2 * PRICE)


def judged(answer: Answer, *receipts: Receipt, entered: int | None = None, seen: bool = True) -> Tally:
    taken = sum(receipt.charged for receipt in receipts) if entered is None else entered
    books = Books(receipts={WHO.key_id: receipts}, entered={"r": taken})
    tally = Tally()
    said = list(judge_call(tally, placed(answer), books, {"r": SEEN} if seen else {}))
    assert bool(said) == (not tally.is_clean)
    return tally


def test_a_call_that_was_served_and_charged_is_clean() -> None:
    assert judged(SERVED, a_receipt()).is_clean


@pytest.mark.parametrize("receipts", [(), (a_receipt(charged=0),)], ids=["no receipt", "charged nothing"])
def test_an_answer_that_nobody_paid_is_lost(receipts: tuple[Receipt, ...]) -> None:
    assert judged(SERVED, *receipts).lost == 1


def test_a_call_that_was_charged_twice_is_double() -> None:
    assert judged(SERVED, a_receipt(), a_receipt(request_id="s"), entered=PRICE).double == 1
    assert judged(SERVED, a_receipt(), entered=2 * PRICE).double == 1


def test_a_charge_for_what_no_provider_saw_is_a_ghost() -> None:
    assert judged(BROKEN_OFF, a_receipt(ending="owner_died"), seen=False).ghost == 1


def test_a_kill_between_mark_and_socket_is_unknown_and_costs_the_input_at_most() -> None:
    tally = judged(NODE_LOST, a_receipt(ending="owner_died", charged=exact_charge(10, 0)), seen=False)
    assert (tally.ghost, tally.unknown, tally.is_clean) == (0, 1, True)


def test_a_charge_that_is_not_the_price_of_the_truth_is_off() -> None:
    assert judged(SERVED, a_receipt(charged=PRICE - 1)).diff == 1


def test_a_refusal_of_a_node_costs_nothing_and_one_of_the_balancer_may() -> None:
    assert judged(REFUSED, a_receipt()).overcharged == 1
    assert judged(NODE_LOST, a_receipt(ending="owner_died")).is_clean


def test_more_than_was_held_is_never_charged() -> None:
    assert judged(BROKEN_OFF, a_receipt(charged=2 * PRICE + 1)).overcharged == 1


def aftermath(*calls: Placed) -> Aftermath:
    kill, crash = (Fault(name=name, act=lambda _: None, after_calls=0) for name in ("kill", "crash"))
    happened = [Happened(fault=kill, began=10.0, ended=11.0), Happened(fault=crash, began=20.0, ended=25.0)]
    tally = Tally(calls=len(calls), served=sum(call.is_served for call in calls))
    return Aftermath(placed=calls, happened=happened, tally=tally, memory_growth_bytes=0, books_clean=True)


def test_recovery_ends_with_the_last_call_that_was_begun_after_a_fault_and_failed_before_the_next() -> None:
    in_flight_at_the_kill = placed(BROKEN_OFF, begun=9.0, seconds=1.5)
    refused = placed(REFUSED, begun=12.0, seconds=2.0)
    in_flight_at_the_crash = placed(BROKEN_OFF, begun=19.0, seconds=1.5)
    later = placed(REFUSED, begun=21.0, seconds=0.5)
    known = aftermath(in_flight_at_the_kill, refused, in_flight_at_the_crash, later, placed(SERVED, begun=30.0))
    assert known.recoveries() == [("kill", 4.0), ("crash", 1.5)]
    assert back_within(4)(known).holds
    assert not back_within(3)(known).holds


def test_expectations_tell_refusals_from_cuts() -> None:
    refused, cut = aftermath(placed(REFUSED)), aftermath(placed(BROKEN_OFF))
    assert no_stream_is_cut(refused).holds
    assert refused_only_with("store_unavailable")(refused).holds
    assert not refused_only_with("node_lost")(refused).holds
    assert not no_stream_is_cut(cut).holds
    assert not all_served(refused).holds


def test_a_fault_is_shown_when_all_of_its_rows_hold() -> None:
    def row(number: int, *, holds: bool, timed: bool = False) -> Row:
        check = Check("it", holds, timed=timed)
        return Row(number=number, name="", load="", tally=Tally(calls=1, lost=1), checks=[check])

    rows = [row(2, holds=True), row(2, holds=False), row(3, holds=True), row(4, holds=False, timed=True)]
    assert figures(rows, timed=False)["faults"] == "2/15"
    assert figures(rows, timed=True)["faults"] == "1/15"
    assert figures(rows, timed=True)["lost"] == 4


def test_a_plot_goes_from_the_least_to_the_most() -> None:
    assert drawn([1.0, 1.0, 9.0]) == "1 ▁▁█ 9"
