"""How the service is doing: calls, failures, latency, revenue, cost and margin, by hour, and by account and model.

Rules of this file
1. Only what was measured is told. Where there was nothing to measure, a figure is None.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed
from tollkeeper.ports.providers.figures import AttemptFigures

HOURS_MOST = 24 * 92

Account = Annotated[str, msgspec.Meta(max_length=64, description="Of one provider account; empty: of all.")]
Hours = Annotated[int, msgspec.Meta(ge=1, le=HOURS_MOST, description="How many hours, besides the one that runs.")]


class HoursWish(msgspec.Struct, frozen=True, kw_only=True):
    hours: Hours = 24
    account: Account = ""


class FigureSums(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts at providers, and the calls that they answered."""

    attempts: int
    failed: int
    delivered: int
    input_units: int
    output_units: int
    revenue: Amount
    cost: Amount
    margin: Amount
    first_byte_p50_ms: int | None
    first_byte_p99_ms: int | None


class HourView(msgspec.Struct, frozen=True):
    hour: datetime
    figures: FigureSums


class AccountModelView(msgspec.Struct, frozen=True):
    account: str
    model: str
    figures: FigureSums


class FailureView(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts of one hour that failed in one way; `for_callers`: no other attempt made up for them; `unanswered`: and
    their calls had no answer at all (the others broke off). Calls are those that were delivered and those unanswered.
    """

    hour: datetime
    failure: str
    times: int
    for_callers: int
    unanswered: int


@act("GET", "/figures", Scope.READ)
async def show_figures(office: Office, wish: HoursWish, by: Actor) -> FigureSums:
    """What all hours came to together."""
    return _summed(_together([each.figures for each in await office.figures.by_hour(wish.hours, wish.account)]))


@act("GET", "/figures/failures", Scope.READ)
async def list_failures(office: Office, wish: HoursWish, by: Actor) -> Listed[FailureView]:
    """What attempts at providers failed of, by hour: `busy`, `server`, `key_refused`, `unreachable`, `silent`, …;
    `not_kept` for hours of which the kinds were not kept yet."""
    found = await office.figures.failures(wish.hours, wish.account)
    return Listed(
        [
            FailureView(
                hour=each.hour,
                failure=each.failure,
                times=each.times,
                for_callers=each.for_callers,
                unanswered=each.unanswered,
            )
            for each in found
        ]
    )


@act("GET", "/figures/hours", Scope.READ)
async def list_figures_by_hour(office: Office, wish: HoursWish, by: Actor) -> Listed[HourView]:
    """What every hour came to; hours without a call are left out."""
    found = await office.figures.by_hour(wish.hours, wish.account)
    return Listed([HourView(each.hour, _summed(each.figures)) for each in found])


@act("GET", "/figures/models", Scope.READ)
async def list_figures_by_model(office: Office, wish: HoursWish, by: Actor) -> Listed[AccountModelView]:
    """What every provider account came to with every model."""
    found = await office.figures.by_model(wish.hours, wish.account)
    return Listed([AccountModelView(each.account, each.model, _summed(each.figures)) for each in found])


def _together(figures: Sequence[AttemptFigures]) -> AttemptFigures:
    return AttemptFigures(
        attempts=sum(each.attempts for each in figures),
        failed=sum(each.failed for each in figures),
        delivered=sum(each.delivered for each in figures),
        input_units=sum(each.input_units for each in figures),
        output_units=sum(each.output_units for each in figures),
        charged=Quota(sum(each.charged for each in figures)),
        cost=Quota(sum(each.cost for each in figures)),
        first_byte=[sum(times) for times in zip(*(each.first_byte for each in figures), strict=True)],
    )


def _summed(figures: AttemptFigures) -> FigureSums:
    return FigureSums(
        attempts=figures.attempts,
        failed=figures.failed,
        delivered=figures.delivered,
        input_units=figures.input_units,
        output_units=figures.output_units,
        revenue=amount_of(figures.charged),
        cost=amount_of(figures.cost),
        margin=amount_of(figures.charged - figures.cost),
        first_byte_p50_ms=figures.first_byte_ms(50),
        first_byte_p99_ms=figures.first_byte_ms(99),
    )


ACTS = (show_figures, list_figures_by_hour, list_figures_by_model, list_failures)
