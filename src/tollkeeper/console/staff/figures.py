"""Figures: every hour, every provider account with every model, and every kind of failure, as rows."""

from collections.abc import Sequence

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.sums import percent, sums_of
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.figures import FailureView, list_failures, list_figures_by_hour, list_figures_by_model

# What can be chosen, with its name.
SPANS = ((24, "24 hours"), (24 * 7, "7 days"))
HOURS_SHOWN = 24 * 7


async def show(visit: Visit) -> Response:
    hours = await acted(visit, list_figures_by_hour)
    # Of all accounts they would be thousands of rows; each account is a link away.
    models = await acted(visit, list_figures_by_model) if visit.query.get("account") else None
    failures = await acted(visit, list_failures)
    rows = hours.data if hours else []
    return visit.page(
        "staff_figures.html",
        asked={name: visit.query.get(name, "")[:64] for name in ("account", "hours")},
        spans=SPANS,
        hours=[(row, sums_of([row])) for row in reversed(rows)][:HOURS_SHOWN],
        hours_most=HOURS_SHOWN,
        total=sums_of(rows),
        models=[(row, sums_of([row])) for row in models.data] if models else [],
        failures=_by_kind(failures.data if failures else []),
        percent=percent,
    )


def _by_kind(failures: Sequence[FailureView]) -> list[tuple[str, int, int]]:
    """Kind, how often, and how often a caller heard of it; the commonest first."""
    kinds: dict[str, tuple[int, int]] = {}
    for each in failures:
        times, for_callers = kinds.get(each.failure, (0, 0))
        kinds[each.failure] = (times + each.times, for_callers + each.for_callers)
    return sorted(((kind, *counts) for kind, counts in kinds.items()), key=lambda row: -row[1])


PAGES = (staff_get("/staff/figures", show, Scope.READ),)
