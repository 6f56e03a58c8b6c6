"""Overview: what wants a person, how the last day went, how each provider account is doing, and the house.

Rules of this file
1. Every figure is a link to the rows that it sums.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from tollkeeper.accounts.providers.health import HealthTag
from tollkeeper.console import charts
from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.hour_charts import Hour, every_hour, hour_charts
from tollkeeper.console.staff.list_links import has_scope
from tollkeeper.console.staff.providers import COLOURS
from tollkeeper.console.staff.sums import Sums, percent, sums_of
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.attention import Matter, MatterKind, is_late, matters_of, show_house
from tollkeeper.office.figures import FailureView, HoursWish, list_failures, list_figures_by_hour, show_figures
from tollkeeper.office.house import list_jobs, list_nodes, show_books_verdict
from tollkeeper.office.lists import ROWS_MOST
from tollkeeper.office.provider_views import ProviderRow
from tollkeeper.office.provider_wishes import ProvidersWish
from tollkeeper.office.providers import list_providers
from tollkeeper.office.wishes import NoWish

# With the one that runs.
HOURS = 24
FIGURES = f"/staff/figures?hours={HOURS - 1}"
# Those that want a look, or have the most calls; the others are a link away.
ACCOUNTS_SHOWN = 8
IN_ORDER = (HealthTag.WELL, HealthTag.IDLE, HealthTag.PAUSED, HealthTag.DRAINING)
# Where a matter is looked at, and what the way there is called.
WAYS: Mapping[MatterKind, tuple[str, str]] = {
    MatterKind.BOOKS: ("/staff/jobs", "Look"),
    MatterKind.PROVIDER: ("/staff/providers/{subject}", "Look"),
    MatterKind.HOLDS: ("/staff/nodes", "Nodes"),
    MatterKind.JOB: ("/staff/jobs", "Jobs"),
    MatterKind.DISPUTES: ("/staff/disputes", "Disputes"),
    MatterKind.RESETS: ("/staff/resets", "Resets"),
    MatterKind.WITHDRAWALS: ("/staff/withdrawals", "Withdrawals"),
    MatterKind.LOTS: ("/staff/customers?lapsing=true", "Customers"),
    MatterKind.PRICE: ("/staff/prices", "Prices"),
}


class MatterShown(msgspec.Struct, frozen=True):
    told: str
    href: str
    words: str


async def show(visit: Visit) -> Response:
    office, by, wish = visit.desks.office, visit.by, HoursWish(hours=HOURS - 1)
    rows = (await list_figures_by_hour(office, wish, by)).data
    failures = (await list_failures(office, wish, by)).data
    hours = every_hour(rows, failures, visit.desks.now(), HOURS)
    accounts = (await list_providers(office, ProvidersWish(limit=ROWS_MOST), by)).data
    jobs, now = (await list_jobs(office, NoWish(), by)).data, visit.desks.now()
    house, total = await show_house(office, NoWish(), by), sums_of(rows)
    return visit.page(
        "overview.html",
        matters=[_shown(visit, each) for each in matters_of(house, accounts, jobs, now)],
        total=total,
        whole=await show_figures(office, wish, by),
        figures_page=FIGURES,
        failed_for_callers=part_failed_for_callers(total, failures),
        hours=hours,
        sparks=_sparks(hours, failures),
        pictures=hour_charts(hours, FIGURES),
        accounts=_first(accounts),
        accounts_in_all=len(accounts),
        delivered_in_all=sum(row.delivered for row in accounts),
        percent=percent,
        colours=COLOURS,
        house=house,
        books=await show_books_verdict(office, NoWish(), by),
        nodes=(await list_nodes(office, NoWish(), by)).data,
        jobs=jobs,
        jobs_late=sum(is_late(job, now) for job in jobs),
        may_add=has_scope(visit, Scope.CATALOG),
    )


def _shown(visit: Visit, matter: Matter) -> MatterShown:
    """A way that no page is at the end of is not shown."""
    href, words = WAYS[matter.kind]
    is_there = href.replace("{subject}", "{name}") in visit.house.paths
    return MatterShown(matter.told, href.format(subject=matter.subject) if is_there else "", words)


def _first(accounts: Sequence[ProviderRow]) -> Sequence[ProviderRow]:
    return sorted(accounts, key=lambda row: (row.tag in IN_ORDER, -row.delivered, row.name))[:ACCOUNTS_SHOWN]


def part_failed_for_callers(total: Sums, failures: Sequence[FailureView]) -> str:
    """The part of all calls: one that was never answered is a call, too."""
    calls = total.delivered + sum(each.unanswered for each in failures)
    return percent(sum(each.for_callers for each in failures), calls, decimals=2)


def _sparks(hours: Sequence[Hour], failures: Sequence[FailureView]) -> Mapping[str, Markup]:
    """A line has no place below zero: where an hour made a loss, there is none."""
    failed = [sum(each.for_callers for each in failures if each.hour == hour.at) for hour in hours]
    margins = [hour.sums.margin for hour in hours]
    series = {
        "calls": [hour.sums.delivered for hour in hours],
        "failed": failed,
        "margin": margins if min(margins) >= 0 else [],
    }
    return {name: charts.sparkline([Decimal(value) for value in values]) for name, values in series.items()}


PAGES = (staff_get("/staff", show, Scope.READ),)
