"""What the end of a call adds to."""

from collections.abc import Iterable

import pytest

from tollkeeper.core import errors
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.metrics.calls import BY_CODE, CallFigures, CallOutcome, SettledAttempt, SettledCall
from tollkeeper.metrics.text import lines_of

CHAT = "/v1/chat/completions"


def a_settled_call(*, kind: Kind = Kind.CHAT, attempts: Iterable[SettledAttempt] = ()) -> SettledCall:
    return SettledCall(
        model="m",
        kind=kind,
        ending=Ending.COMPLETED,
        charge=Charge(Quota(750_000_000_000), Usage(10, 20, 3), UsageSource.PROVIDER),
        attempts=tuple(attempts),
        own_seconds=0.002,
        provider_seconds=1.5,
    )


def told(figures: CallFigures, metric: str) -> list[str]:
    return lines_of(figures.samples(), 0).get(metric, "").splitlines()


@pytest.mark.parametrize(
    ("refusal", "outcome"),
    [
        (errors.MalformedBody, CallOutcome.REFUSED),
        (errors.KeyUnknown, CallOutcome.REFUSED),
        (errors.ProviderRejected, CallOutcome.REFUSED),
        (errors.RateLimited, CallOutcome.LIMITED),
        (errors.KeyBudgetExceeded, CallOutcome.QUOTA),
        (errors.EdgeTimeout, CallOutcome.CUT),
        (errors.TimeLimitReached, CallOutcome.CUT),
        (errors.ProviderUnavailable, CallOutcome.PROVIDER),
        (errors.StreamBroken, CallOutcome.PROVIDER),
        (errors.StoreUnavailable, CallOutcome.FAILED),
        (errors.NodeStopping, CallOutcome.FAILED),
        (errors.InternalFailure, CallOutcome.FAILED),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_refusal_is_of_one_outcome(refusal: type[errors.GatewayError], outcome: CallOutcome) -> None:
    assert BY_CODE[refusal.code] is outcome


def test_every_outcome_of_every_endpoint_is_told_before_it_happens() -> None:
    lines = told(CallFigures([CHAT]), "tollkeeper_calls_total")
    assert len(lines) == 2 * len(CallOutcome)
    assert all(line.endswith(" 0") for line in lines)


def test_a_path_that_is_not_relayed_is_other() -> None:
    figures = CallFigures([CHAT])
    figures.answered("/v1/models", None, 0.1, None)
    assert 'tollkeeper_calls_total{endpoint="other",outcome="answered",worker="0"} 1' in told(
        figures, "tollkeeper_calls_total"
    )


def test_only_calls_that_were_answered_say_how_long_calls_take() -> None:
    figures = CallFigures([CHAT])
    figures.answered(CHAT, None, 0.2, 0.1)
    figures.answered(CHAT, errors.RateLimited.code, 0.001, None)
    assert told(figures, "tollkeeper_call_seconds")[-1].endswith(" 1")
    assert told(figures, "tollkeeper_first_byte_seconds")[-1].endswith(" 1")


def test_a_settled_call_adds_tokens_charge_cost_and_times() -> None:
    figures = CallFigures([CHAT])
    attempts = [SettledAttempt("one", "broken", 0), SettledAttempt("two", "completed", 250_000_000_000)]
    figures.settled(CHAT, a_settled_call(attempts=attempts))
    assert told(figures, "tollkeeper_charged_usd_total") == ['tollkeeper_charged_usd_total{model="m",worker="0"} 1.5']
    assert told(figures, "tollkeeper_provider_cost_usd_total")[1].endswith('"two",worker="0"} 0.5')
    assert told(figures, "tollkeeper_tokens_total") == [
        f'tollkeeper_tokens_total{{model="m",kind="{kind}",worker="0"}} {count}'
        for kind, count in (("input", 10), ("cached", 3), ("output", 20))
    ]
    assert len(told(figures, "tollkeeper_attempts_total")) == 2
    assert told(figures, "tollkeeper_call_own_seconds")[-2].endswith(" 0.002")
    assert told(figures, "tollkeeper_call_provider_seconds")[-2].endswith(" 1.5")


def test_what_is_no_token_is_counted_as_what_it_is() -> None:
    figures = CallFigures([CHAT])
    figures.settled(CHAT, a_settled_call(kind=Kind.SPEECH))
    assert told(figures, "tollkeeper_media_units_total") == [
        'tollkeeper_media_units_total{model="m",unit="characters",worker="0"} 10'
    ]
    assert told(figures, "tollkeeper_tokens_total") == []
