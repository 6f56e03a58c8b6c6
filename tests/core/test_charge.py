import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.test_prices import GPT_4O, a_rate, any_rates, counts
from tollkeeper.core.charge import Charge, Ending, Seen, UsageSource, charge, orphan_charge
from tollkeeper.core.money import Quota
from tollkeeper.core.prices import Rate, Usage

RATE = a_rate(model="1.25", completion="4", cached="0.5")
MOST_TOKENS = 2_000
REPORTED = Usage(1_000, 500, 400)
COUNTED = Usage(900, 300)

BY_REPORT = Charge(Quota(3_500_000_000), REPORTED, UsageSource.PROVIDER)
BY_COUNT = Charge(Quota(2_625_000_000), COUNTED, UsageSource.COUNTED)
BY_INPUT = Charge(Quota(1_125_000_000), Usage(900), UsageSource.COUNTED_INPUT)
NOTHING = Charge(Quota(0), Usage(0), UsageSource.NONE)

# With a believable report; without one, output counted; without one, nothing of the output seen.
EXPECTED = {
    Ending.COMPLETED: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.UPSTREAM_BROKE: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.CLIENT_LEFT: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.CUT: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.TIME_LIMIT: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.REVOKED: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.QUOTA_RAN_OUT: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.NODE_STOPPED: (BY_REPORT, BY_COUNT, BY_INPUT),
    Ending.REFUSED: (NOTHING, NOTHING, NOTHING),
    Ending.OWNER_DIED: (BY_REPORT, BY_COUNT, BY_INPUT),
}

every_ending = pytest.mark.parametrize("ending", list(Ending))
output_seen_or_not = pytest.mark.parametrize("seen_output", [True, False], ids=["output seen", "output unseen"])


def seen(reported: Usage | None, seen_output: bool) -> Seen:
    return Seen(reported=reported, counted=COUNTED if seen_output else Usage(COUNTED.input_tokens))


@every_ending
@output_seen_or_not
def test_what_the_provider_reports_is_charged_unless_it_refused(ending: Ending, seen_output: bool) -> None:
    by_report, _, _ = EXPECTED[ending]
    assert charge(ending, seen(REPORTED, seen_output), RATE, most_tokens=MOST_TOKENS) == by_report


@every_ending
@output_seen_or_not
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
    ending: Ending, seen_output: bool, reported: Usage | None
) -> None:
    _, by_count, by_input = EXPECTED[ending]
    expected = by_count if seen_output else by_input
    assert charge(ending, seen(reported, seen_output), RATE, most_tokens=MOST_TOKENS) == expected


@output_seen_or_not
@pytest.mark.parametrize(
    ("reported", "units"),
    [
        pytest.param(Usage(0), 0, id="explicit zeros"),
        pytest.param(Usage(1_000), 1_250_000_000, id="no output"),
        pytest.param(Usage(1_000, 0, 1_000), 625_000_000, id="all input cached"),
        pytest.param(Usage(MOST_TOKENS, MOST_TOKENS, MOST_TOKENS), 11_250_000_000, id="the most that is possible"),
    ],
)
def test_a_report_at_the_edge_of_the_possible_is_believed(seen_output: bool, reported: Usage, units: int) -> None:
    expected = Charge(Quota(units), reported, UsageSource.PROVIDER)
    assert charge(Ending.COMPLETED, seen(reported, seen_output), RATE, most_tokens=MOST_TOKENS) == expected


@pytest.mark.parametrize(
    ("output_tokens", "held", "units", "source"),
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
    output_tokens: int, held: int, units: int, source: UsageSource
) -> None:
    charged = orphan_charge(1_000, output_tokens, GPT_4O, held=Quota(held))
    assert charged == Charge(Quota(units), Usage(1_000, output_tokens), source)


@settings(max_examples=300, deadline=None)
@given(counts, counts, any_rates, st.integers(0, 10**15))
def test_an_orphan_never_costs_more_than_was_held(input_tokens: int, output_tokens: int, rate: Rate, held: int) -> None:
    charged = orphan_charge(input_tokens, output_tokens, rate, held=Quota(held))
    full = rate.charge(Usage(input_tokens, output_tokens))
    assert 0 <= charged.amount <= held
    assert charged.amount in {full, held}
    assert charged.amount <= full
