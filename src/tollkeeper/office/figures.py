"""How the service is doing: calls, failures, latency, revenue, cost and margin, by hour, and by account and model.

Rules of this file
1. Only what was measured is told. Where there was nothing to measure, a figure is None.
"""

from datetime import datetime
from typing import Annotated

import msgspec

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


ACTS = (list_figures_by_hour, list_figures_by_model)
