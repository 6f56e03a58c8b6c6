"""How a call ended and what it costs then: the table of ARCHITECTURE.md, a situation to a row."""

import itertools

import msgspec
import pytest

from tests.core.money.test_charge import HELD, REPORTED, TERMS, Read
from tollkeeper.core.calls.endings import ending_of
from tollkeeper.core.money.charge import Ending, UsageSource, charge
from tollkeeper.core.money.prices import Usage

AS_REPORTED = (REPORTED, UsageSource.PROVIDER)
AS_COUNTED = (Usage(900, 300), UsageSource.COUNTED)
INPUT_ALONE = (Usage(900), UsageSource.COUNTED_INPUT)
NOTHING = (Usage(0), UsageSource.NONE)

REPORT, WORDS, SILENCE = Read(reported=REPORTED), Read(), Read(output_tokens=0)


class Row(msgspec.Struct, kw_only=True):
    """A situation: who ended the call, what came by then; and what becomes of that."""

    outside: Ending | None = None
    provider: Ending | None = None
    may_have_cost: bool = True
    came: Read = WORDS
    # Half of an image, or of a sound.
    is_worthless_in_part: bool = False
    ending: Ending
    charged: tuple[Usage, UsageSource]


COMPLETED, REFUSED = Ending.COMPLETED, Ending.REFUSED
ROWS = {
    "the answer is whole": Row(provider=COMPLETED, came=REPORT, ending=COMPLETED, charged=AS_REPORTED),
    "the answer is whole, without a report": Row(provider=COMPLETED, ending=COMPLETED, charged=AS_COUNTED),
    "the answer is whole and empty": Row(provider=COMPLETED, came=SILENCE, ending=COMPLETED, charged=INPUT_ALONE),
    "it broke off after its first words": Row(ending=Ending.UPSTREAM_BROKE, charged=AS_COUNTED),
    "it broke off before its first word": Row(came=SILENCE, ending=REFUSED, charged=NOTHING),
    "it broke off in the middle of a file": Row(is_worthless_in_part=True, ending=REFUSED, charged=NOTHING),
    "the client left": Row(outside=Ending.CLIENT_LEFT, ending=Ending.CLIENT_LEFT, charged=AS_COUNTED),
    "the client left, and the report came": Row(
        outside=Ending.CLIENT_LEFT, provider=COMPLETED, came=REPORT, ending=Ending.CLIENT_LEFT, charged=AS_REPORTED
    ),
    "the client left before the first word": Row(
        outside=Ending.CLIENT_LEFT, came=SILENCE, ending=Ending.CLIENT_LEFT, charged=INPUT_ALONE
    ),
    "the client left in the middle of a file": Row(
        outside=Ending.CLIENT_LEFT, is_worthless_in_part=True, ending=Ending.CLIENT_LEFT, charged=AS_COUNTED
    ),
    "the client left, and nothing was sent": Row(
        outside=Ending.CLIENT_LEFT, may_have_cost=False, came=SILENCE, ending=REFUSED, charged=NOTHING
    ),
    "the client left, and providers refuse": Row(
        outside=Ending.CLIENT_LEFT, provider=REFUSED, came=SILENCE, ending=REFUSED, charged=NOTHING
    ),
    "cut on main, and it is answered": Row(
        outside=Ending.CUT, provider=COMPLETED, came=REPORT, ending=Ending.CUT, charged=AS_REPORTED
    ),
    "cut on main, and it is never known": Row(outside=Ending.CUT, came=SILENCE, ending=Ending.CUT, charged=INPUT_ALONE),
    "out of time": Row(outside=Ending.TIME_LIMIT, ending=Ending.TIME_LIMIT, charged=AS_COUNTED),
    "out of time before the first word": Row(
        outside=Ending.TIME_LIMIT, came=SILENCE, ending=Ending.TIME_LIMIT, charged=INPUT_ALONE
    ),
    "a hold could not be extended": Row(provider=Ending.QUOTA_RAN_OUT, ending=Ending.QUOTA_RAN_OUT, charged=AS_COUNTED),
    "its caller allows no more": Row(provider=Ending.MAX_CHARGE, ending=Ending.MAX_CHARGE, charged=AS_COUNTED),
    "its key was revoked": Row(outside=Ending.REVOKED, ending=Ending.REVOKED, charged=AS_COUNTED),
    "its key was revoked before the first word": Row(
        outside=Ending.REVOKED, came=SILENCE, ending=Ending.REVOKED, charged=INPUT_ALONE
    ),
    "the node stops": Row(outside=Ending.NODE_STOPPED, ending=Ending.NODE_STOPPED, charged=AS_COUNTED),
    "the node stops before the first word": Row(
        outside=Ending.NODE_STOPPED, came=SILENCE, ending=REFUSED, charged=NOTHING
    ),
    "our own books could not do it": Row(provider=Ending.NODE_STOPPED, ending=Ending.NODE_STOPPED, charged=AS_COUNTED),
    "providers refuse": Row(provider=REFUSED, came=SILENCE, ending=REFUSED, charged=NOTHING),
    "nothing was ever sent": Row(may_have_cost=False, came=SILENCE, ending=REFUSED, charged=NOTHING),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_call_ends_and_is_charged_by_its_row(row: Row) -> None:
    has_use = bool(row.came.output_tokens) and not row.is_worthless_in_part
    ending = ending_of(outside=row.outside, provider=row.provider, may_have_cost=row.may_have_cost, has_use=has_use)
    complete = row.provider is COMPLETED
    due = charge(ending, TERMS, row.came, complete=complete, covered_tokens=1_000, held=HELD)
    assert (ending, (due.usage, due.source)) == (row.ending, row.charged)


def test_every_ending_of_a_call_has_a_row() -> None:
    # The owner of a call that died cannot tell how it ended: whoever settles it for the dead does.
    assert {row.ending for row in ROWS.values()} == set(Ending) - {Ending.OWNER_DIED}


OUTSIDE = (None, Ending.CLIENT_LEFT, Ending.CUT, Ending.TIME_LIMIT, Ending.REVOKED, Ending.NODE_STOPPED)
PROVIDER = (None, COMPLETED, REFUSED, Ending.QUOTA_RAN_OUT, Ending.MAX_CHARGE, Ending.NODE_STOPPED)


@pytest.mark.parametrize("has_use", [True, False])
def test_whoever_ended_a_call_first_is_right_unless_it_costs_nothing(has_use: bool) -> None:
    for outside, provider in itertools.product(OUTSIDE, PROVIDER):
        ending = ending_of(outside=outside, provider=provider, may_have_cost=True, has_use=has_use)
        assert ending in {outside or provider or Ending.UPSTREAM_BROKE, REFUSED}
        nothing_sent = ending_of(outside=outside, provider=provider, may_have_cost=False, has_use=has_use)
        assert nothing_sent is REFUSED
