"""What a call costs: by how it ended, and by what is known of its usage. Each is a table of rows."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.money.test_prices import GPT_4O, a_rate, any_rates, counts
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import (
    CHARGED,
    Charge,
    ChargeTerms,
    Ending,
    UsageSource,
    charge,
    orphan_charge,
    used,
)
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, with_slack

COUNTED, INPUT_ALONE, PROVIDER = UsageSource.COUNTED, UsageSource.COUNTED_INPUT, UsageSource.PROVIDER
MEASURED = UsageSource.MEASURED

RATE = a_rate(model="1.25", completion="4", cached="0.5")
MOST_TOKENS = 2_000
LIMITS = TokenCaps(context_tokens=MOST_TOKENS, max_output_tokens=1_000)
TERMS = ChargeTerms(Ask(input_units=900), LIMITS, RATE)
REPORTED = Usage(1_000, 500, 400)
HELD = Quota(2_000_000_000)


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a meter has read: output counted, unless a test says otherwise."""

    reported: Usage | None = None
    so_far: Usage | None = None
    output_tokens: int = 300
    guessed_tokens: int = 0


def of_caller(limits: TokenCaps = LIMITS, **asked: object) -> ChargeTerms:
    return ChargeTerms(msgspec.structs.replace(TERMS.ask, **asked), limits, RATE)


BY_REPORT = Charge(Quota(3_500_000_000), REPORTED, PROVIDER)
BY_COUNT = Charge(Quota(2_625_000_000), Usage(900, 300), COUNTED)
BY_INPUT = Charge(Quota(1_125_000_000), Usage(900), INPUT_ALONE)
NOTHING = Charge(Quota(0), Usage(0), UsageSource.NONE)


def capped(due: Charge) -> Charge:
    return msgspec.structs.replace(due, amount=min(due.amount, HELD))


ALL = (BY_REPORT, BY_COUNT, BY_INPUT)
AT_MOST_HELD = (capped(BY_REPORT), capped(BY_COUNT), BY_INPUT)
# With a believable report; without one, output counted; without one, nothing of the output seen.
BY_ENDING = {
    Ending.COMPLETED: ALL,
    Ending.UPSTREAM_BROKE: ALL,
    Ending.CLIENT_LEFT: ALL,
    Ending.CUT: ALL,
    Ending.TIME_LIMIT: ALL,
    Ending.REVOKED: ALL,
    Ending.MAX_CHARGE: ALL,
    Ending.QUOTA_RAN_OUT: AT_MOST_HELD,
    Ending.NODE_STOPPED: ALL,
    Ending.REFUSED: (NOTHING, NOTHING, NOTHING),
    Ending.OWNER_DIED: AT_MOST_HELD,
}
READ = (Read(reported=REPORTED), Read(), Read(output_tokens=0))


def test_every_ending_has_its_row() -> None:
    assert set(CHARGED) == set(BY_ENDING) == set(Ending)


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("known", [0, 1, 2], ids=["reported", "counted", "input alone"])
def test_how_much_is_charged_depends_on_the_ending(ending: Ending, known: int) -> None:
    due = charge(ending, TERMS, READ[known], complete=False, covered_tokens=1_000, held=HELD)
    assert due == BY_ENDING[ending][known]


def test_a_hold_that_covers_all_takes_nothing_off() -> None:
    due = charge(Ending.QUOTA_RAN_OUT, TERMS, Read(), complete=False, covered_tokens=1_000, held=BY_COUNT.amount)
    assert due == BY_COUNT


class Row(msgspec.Struct, kw_only=True):
    """What is known of a call, and the usage that it is charged for."""

    read: Read
    usage: Usage
    source: UsageSource
    complete: bool = False
    terms: ChargeTerms = TERMS
    covered_tokens: int = 1_000


THINKER = msgspec.structs.replace(LIMITS, hidden_reasoning=True)
IMAGES = of_caller(input_units=4, measured=True)
SLACK = with_slack(100)

ROWS = {
    # A complete answer: its report is the last word.
    "whole, reported": Row(read=Read(reported=REPORTED), complete=True, usage=REPORTED, source=PROVIDER),
    "whole, reported below what was counted": Row(
        read=Read(reported=Usage(1_000, 1)), complete=True, usage=Usage(1_000, 1), source=PROVIDER
    ),
    "whole, reported as nothing": Row(read=Read(reported=Usage(0)), complete=True, usage=Usage(0), source=PROVIDER),
    "whole, not reported": Row(read=Read(), complete=True, usage=Usage(900, 300), source=COUNTED),
    "whole, empty and not reported": Row(
        read=Read(output_tokens=0), complete=True, usage=Usage(900), source=INPUT_ALONE
    ),
    # Any other: what was counted since an early report is not given away.
    "broken, reported beyond what was counted": Row(read=Read(reported=REPORTED), usage=REPORTED, source=PROVIDER),
    "broken, reported as counted": Row(read=Read(reported=Usage(1_000, 300)), usage=Usage(1_000, 300), source=PROVIDER),
    "broken, reported early": Row(
        read=Read(reported=Usage(1_000, 1, 400)), usage=Usage(1_000, 300, 400), source=COUNTED
    ),
    "broken, reported as nothing": Row(read=Read(reported=Usage(0)), usage=Usage(0, 300), source=COUNTED),
    "broken, not reported": Row(read=Read(), usage=Usage(900, 300), source=COUNTED),
    "broken before its first word": Row(read=Read(output_tokens=0), usage=Usage(900), source=INPUT_ALONE),
    # What the provider said while it was at work.
    "said so far, beyond what was counted": Row(
        read=Read(so_far=Usage(1_000, 400, 200)), usage=Usage(1_000, 400, 200), source=COUNTED
    ),
    "said so far, below what was counted": Row(
        read=Read(so_far=Usage(1_000, 2, 200)), usage=Usage(1_000, 300, 200), source=COUNTED
    ),
    "said so far, of the input alone": Row(
        read=Read(so_far=Usage(1_000), output_tokens=0), usage=Usage(1_000), source=INPUT_ALONE
    ),
    "said so far, absurdly": Row(read=Read(so_far=Usage(1_000, -1)), usage=Usage(900, 300), source=COUNTED),
    "said so far, and reported": Row(
        read=Read(so_far=Usage(1, 999), reported=REPORTED), usage=REPORTED, source=PROVIDER
    ),
    # A guess is charged as far as it was held for.
    "guessed, within the hold": Row(
        read=Read(output_tokens=300, guessed_tokens=200), covered_tokens=300, usage=Usage(900, 300), source=COUNTED
    ),
    "guessed, beyond the hold": Row(
        read=Read(output_tokens=300, guessed_tokens=200), covered_tokens=250, usage=Usage(900, 250), source=COUNTED
    ),
    "guessed, and the hold was used up before": Row(
        read=Read(output_tokens=300, guessed_tokens=200), covered_tokens=50, usage=Usage(900, 100), source=COUNTED
    ),
    "counted beyond the hold": Row(read=Read(), covered_tokens=50, usage=Usage(900, 300), source=COUNTED),
    "counted beyond what a model can say": Row(
        read=Read(output_tokens=5_000), usage=Usage(900, MOST_TOKENS), source=COUNTED
    ),
    "counted, of several choices": Row(
        read=Read(output_tokens=5_000), terms=of_caller(n=2), usage=Usage(900, 2 * MOST_TOKENS), source=COUNTED
    ),
    # A report beyond the caller's cap is not believed, but for thoughts.
    "reported about the cap": Row(
        read=Read(reported=Usage(1_000, SLACK)),
        terms=of_caller(max_output_tokens=100),
        usage=Usage(1_000, SLACK),
        source=PROVIDER,
        complete=True,
    ),
    "reported beyond the cap": Row(
        read=Read(reported=Usage(1_000, SLACK + 1)),
        terms=of_caller(max_output_tokens=100),
        usage=Usage(900, 300),
        source=COUNTED,
        complete=True,
    ),
    "reported beyond the cap, of a model that thinks": Row(
        read=Read(reported=REPORTED),
        terms=of_caller(THINKER, max_output_tokens=100),
        usage=REPORTED,
        source=PROVIDER,
        complete=True,
    ),
    "reported beyond the cap, of a caller who wants thoughts": Row(
        read=Read(reported=REPORTED),
        terms=of_caller(max_output_tokens=100, thinks=True),
        usage=REPORTED,
        source=PROVIDER,
        complete=True,
    ),
    "reported beyond the cap, by a provider that tells its thoughts beside what it said": Row(
        read=Read(reported=Usage(1_000, SLACK + 100, 400, beside_units=100)),
        terms=of_caller(max_output_tokens=100),
        usage=Usage(1_000, SLACK + 100, 400, beside_units=100),
        source=PROVIDER,
        complete=True,
    ),
    # What was measured before the call has no output, and is not charged beyond what was asked for.
    "measured": Row(read=Read(output_tokens=0), terms=IMAGES, usage=Usage(4), source=MEASURED, complete=True),
    "measured, and fewer came": Row(
        read=Read(reported=Usage(3), output_tokens=0), terms=IMAGES, usage=Usage(3), source=MEASURED, complete=True
    ),
    "measured, and more came": Row(
        read=Read(reported=Usage(9), output_tokens=0), terms=IMAGES, usage=Usage(4), source=MEASURED, complete=True
    ),
    "measured, and it broke": Row(
        read=Read(reported=Usage(1), output_tokens=0), terms=IMAGES, usage=Usage(1), source=MEASURED
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_was_used_is_known_by_its_rule(row: Row) -> None:
    known = used(row.terms, row.read, complete=row.complete, covered_tokens=row.covered_tokens)
    assert known == (row.usage, row.source)


@pytest.mark.parametrize("complete", [True, False], ids=["whole", "broken"])
@pytest.mark.parametrize("output_tokens", [300, 0], ids=["output seen", "output unseen"])
@pytest.mark.parametrize(
    "reported",
    [
        pytest.param(None, id="no report"),
        pytest.param(Usage(-1, 500), id="input below zero"),
        pytest.param(Usage(1_000, -1), id="output below zero"),
        pytest.param(Usage(1_000, 500, -1), id="cached below zero"),
        pytest.param(Usage(MOST_TOKENS + 1, 500), id="more input than possible"),
        pytest.param(Usage(1_000, MOST_TOKENS + 1), id="more output than possible"),
        pytest.param(Usage(1_000, 500, MOST_TOKENS + 1), id="more cached than possible"),
        pytest.param(Usage(1_000, 500, 1_001), id="more cached than input"),
    ],
)
def test_without_a_believable_report_what_was_counted_is_charged(
    complete: bool, output_tokens: int, reported: Usage | None
) -> None:
    read = Read(reported=reported, output_tokens=output_tokens)
    due = charge(Ending.COMPLETED, TERMS, read, complete=complete, covered_tokens=1_000, held=HELD)
    assert due == (BY_COUNT if output_tokens else BY_INPUT)


@pytest.mark.parametrize(
    ("reported", "units"),
    [
        pytest.param(Usage(0), 0, id="explicit zeros"),
        pytest.param(Usage(1_000), 1_250_000_000, id="no output"),
        pytest.param(Usage(1_000, 0, 1_000), 625_000_000, id="all input cached"),
        pytest.param(Usage(MOST_TOKENS, MOST_TOKENS, MOST_TOKENS), 11_250_000_000, id="the most that is possible"),
    ],
)
def test_a_report_at_the_edge_of_the_possible_is_believed(reported: Usage, units: int) -> None:
    due = charge(Ending.COMPLETED, TERMS, Read(reported=reported), complete=True, covered_tokens=1_000, held=HELD)
    assert due == Charge(Quota(units), reported, PROVIDER)


class Unread:
    """A meter that nobody should ask what it counted: to count takes time."""

    reported: Usage | None = REPORTED
    so_far: Usage | None = None
    guessed_tokens = 0

    @property
    def output_tokens(self) -> int:
        raise AssertionError("counted, and nobody needs it")


def test_nothing_is_counted_where_a_report_is_the_last_word_or_nothing_is_charged() -> None:
    whole = charge(Ending.COMPLETED, TERMS, Unread(), complete=True, covered_tokens=0, held=HELD)
    assert whole == BY_REPORT
    assert charge(Ending.REFUSED, TERMS, Unread(), complete=False, covered_tokens=0, held=HELD) == NOTHING


@pytest.mark.parametrize(
    ("output_units", "held", "units", "source"),
    [
        pytest.param(500, 4_000_000_000, 3_750_000_000, UsageSource.CHECKPOINT, id="as far as its checkpoint"),
        pytest.param(500, 3_750_000_000, 3_750_000_000, UsageSource.CHECKPOINT, id="the whole hold"),
        pytest.param(500, 3_749_999_999, 3_749_999_999, UsageSource.CHECKPOINT, id="no more than the hold"),
        pytest.param(0, 4_000_000_000, 1_250_000_000, UsageSource.COUNTED_INPUT, id="no checkpoint"),
        pytest.param(0, 1_000_000_000, 1_000_000_000, UsageSource.COUNTED_INPUT, id="no checkpoint and a small hold"),
        pytest.param(500, 0, 0, UsageSource.CHECKPOINT, id="nothing held"),
    ],
)
def test_an_orphan_is_charged_what_is_known_of_it(
    output_units: int, held: int, units: int, source: UsageSource
) -> None:
    charged = orphan_charge(1_000, output_units, GPT_4O, held=Quota(held))
    assert charged == Charge(Quota(units), Usage(1_000, output_units), source)


@settings(max_examples=300, deadline=None)
@given(counts, counts, any_rates, st.integers(0, 10**15))
def test_an_orphan_never_costs_more_than_was_held(input_units: int, output_units: int, rate: Rate, held: int) -> None:
    charged = orphan_charge(input_units, output_units, rate, held=Quota(held))
    full = rate.charge(Usage(input_units, output_units))
    assert 0 <= charged.amount <= held
    assert charged.amount in {full, held}
    assert charged.amount <= full


@pytest.mark.parametrize(
    ("reported", "charged"),
    [
        pytest.param({}, {"in_any_case": 1}, id="what is used in any case, once"),
        pytest.param({"in_any_case": 3}, {"in_any_case": 3}, id="as often as reported"),
        pytest.param({"perhaps": 2}, {"in_any_case": 1, "perhaps": 2}, id="what may be used, as reported"),
        pytest.param({"never": 900}, {"in_any_case": 1}, id="what the order never had, not at all"),
        pytest.param({"perhaps": 1_001}, {"in_any_case": 1, "perhaps": 1_000}, id="a thousand times at most"),
    ],
)
def test_tools_are_charged_that_an_order_had(reported: dict[str, int], charged: dict[str, int]) -> None:
    terms = of_caller(tools={"in_any_case": 1}, may_use=frozenset({"perhaps"}))
    read = Read(reported=Usage(10, 5, 0, UsageParts(tools=reported)))
    usage, source = used(terms, read, complete=True, covered_tokens=0)
    assert (usage, source) == (Usage(10, 5, 0, UsageParts(tools=charged)), PROVIDER)


def test_an_order_without_tools_has_used_none() -> None:
    parts = UsageParts(written_5m=4, tools={"never": 900})
    for told, kept in ((parts, UsageParts(written_5m=4)), (UsageParts(tools={"never": 900}), None)):
        read = Read(reported=Usage(10, 5, 0, told))
        assert used(TERMS, read, complete=True, covered_tokens=0) == (Usage(10, 5, 0, kept), PROVIDER)
