"""When a disputed charge comes back by itself, and when a person decides."""

import msgspec
import pytest

from tests.core.usage.test_receipt import a_receipt
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.usage.disputes import DisputeKind, credits_itself, proposed_reason
from tollkeeper.core.usage.receipt import Receipt

OURS = {Ending.COMPLETED, Ending.UPSTREAM_BROKE, Ending.NODE_STOPPED, Ending.OWNER_DIED}


def silent(ending: Ending = Ending.COMPLETED, source: UsageSource = UsageSource.COUNTED_INPUT) -> Receipt:
    """Charged for its input, and no output was seen."""
    return msgspec.structs.replace(a_receipt(Usage(1_000)), ending=ending, usage_source=source)


@pytest.mark.parametrize("ending", Ending)
def test_only_endings_that_are_not_the_callers_credit_themselves(ending: Ending) -> None:
    assert credits_itself(silent(ending)) is (ending in OURS)


@pytest.mark.parametrize(
    "receipt",
    [
        msgspec.structs.replace(silent(), usage=Usage(1_000, 1)),
        msgspec.structs.replace(silent(), charged=Quota(0)),
        msgspec.structs.replace(silent(), usage=Usage(1_000, parts=UsageParts(tools={"web_search": 1}))),
        silent(source=UsageSource.PROVIDER),
        *(msgspec.structs.replace(silent(), kind=kind) for kind in Kind if kind is not Kind.CHAT),
    ],
    ids=["output", "free", "tools", "report of no output", *(kind for kind in Kind if kind is not Kind.CHAT)],
)
def test_what_may_have_been_delivered_is_for_a_person(receipt: Receipt) -> None:
    assert not credits_itself(receipt)


def test_an_answer_that_broke_off_with_a_report_of_nothing_credits_itself() -> None:
    assert credits_itself(silent(Ending.UPSTREAM_BROKE, UsageSource.PROVIDER))


def test_staff_are_proposed_a_reason_from_what_was_said_and_how_it_ended() -> None:
    told = proposed_reason(DisputeKind.CUT_OFF, silent(Ending.CLIENT_LEFT))
    assert told == "The customer says that the answer was cut off. The caller hung up before the end."
    assert proposed_reason(DisputeKind.OTHER, None) == "The customer says that the charge is wrong."
