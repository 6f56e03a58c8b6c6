"""Figures: every hour, every provider account with every model, and every kind of failure, as rows."""

from collections.abc import Sequence

from starlette.responses import Response

from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.hour_charts import hour_anchor, kind_of
from tollkeeper.console.staff.sums import percent, sums_of
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.figures import FailureView, list_failures, list_figures_by_hour, list_figures_by_model
from tollkeeper.office.provider_views import existing_accounts

# What can be chosen, with its name.
# Besides the hour that runs.
SPANS = ((23, "24 hours"), (24 * 7 - 1, "7 days"))
HOURS_SHOWN = 24 * 7
# Failures of before kinds were kept: who heard of them is not known either.
NOT_KEPT = "not_kept"


async def show(visit: Visit) -> Response:
    span = {} if visit.query.get("hours") else {"hours": SPANS[0][0]}
    hours = await acted(visit, list_figures_by_hour, **span)
    # Of all accounts they would be thousands of rows; each account is a link away.
    models = await acted(visit, list_figures_by_model, **span) if visit.query.get("account") else None
    failures = await acted(visit, list_failures, **span)
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
        hour_anchor=hour_anchor,
        existing=await existing_accounts(visit.desks.office) if models else (),
    )


def _by_kind(failures: Sequence[FailureView]) -> list[tuple[str, int, int | None]]:
    """Kind in words, how often, and how often a caller heard of it; the commonest first."""
    kinds: dict[str, tuple[int, int]] = {}
    for each in failures:
        times, for_callers = kinds.get(each.failure, (0, 0))
        kinds[each.failure] = (times + each.times, for_callers + each.for_callers)
    commonest = sorted(kinds.items(), key=lambda row: -row[1][0])
    return [
        (kind_of(kind).words, times, None if kind == NOT_KEPT else for_callers)
        for kind, (times, for_callers) in commonest
    ]


PAGES = (staff_get("/staff/figures", show, Scope.READ),)
