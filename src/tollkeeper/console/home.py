"""Home: what there is and when it lapses, how long it lasts, what was spent, how to connect, and what to do next.

Rules of this file
1. Every figure is a link to the calls that it sums.
2. A first step is ticked off by what is there, never by a click.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from tollkeeper.console import charts, figures
from tollkeeper.console.connect import CLIENTS, snippet
from tollkeeper.console.key_names import key_name
from tollkeeper.console.pages import get
from tollkeeper.console.statements import LOT_NAMES, OTHER_LOT, credits_of
from tollkeeper.console.usage.asked import Asked
from tollkeeper.console.usage.chart import Figure, UsageChart, usage_chart
from tollkeeper.console.visit import Visit
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.usage.log import CHART_DAYS, Breakdown, UsageFilter, UsagePart, UsageSum
from tollkeeper.ports import KeyOnFile
from tollkeeper.ports.customers.lots import LotRecord

WEEK = 7
# Before a lot lapses, its bar changes colour.
SOON = timedelta(days=30)


class LotShown(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    remaining: int
    granted: int
    expires_at: datetime
    # None where it is far away.
    days_left: int | None
    # The credits of its month.
    href: str
    # The name of the key that it is bound to.
    only_key: str
    meter: Markup


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """A time, the time before it, and the calls of it."""

    sum: UsageSum
    before: UsageSum
    spark: Markup
    href: str


class FirstStep(msgspec.Struct, frozen=True):
    words: str
    path: str
    done: bool


async def show(visit: Visit) -> Response:
    today, desks = visit.desks.now().date(), visit.desks
    by = Breakdown.KEY if visit.query.get("by") == Breakdown.KEY else Breakdown.MODEL
    asked = Asked(first=today - timedelta(days=CHART_DAYS - 1), last=today, by=by)
    parts = await desks.usage.parts(visit.account_id, UsageFilter(), by=by, first=asked.first, last=today)
    keys = await desks.keys.of_account(visit.account_id, chat_too=True)
    lots = await desks.lots.of_account(visit.account_id)
    key_names = {key.key_id: key.name for key in keys}
    chart = usage_chart(visit, asked, parts, key_names)
    by_day = _by_day(parts)
    client = CLIENTS.get(visit.query.get("connect", ""), CLIENTS["curl"])
    return visit.page(
        "home.html",
        chart=chart,
        asked=asked,
        spent={days: _spent(by_day, today, days) for days in (1, WEEK, CHART_DAYS)},
        not_completed=await _not_completed(visit, today),
        calls_spark=charts.sparkline([Decimal(each.calls) for each in _last_days(by_day, today, WEEK)]),
        lots=[_lot(visit, lot, key_names) for lot in lots if _is_open(lot, desks.now())],
        steps=_steps(visit, lots, keys, chart),
        announcements=await desks.announcements.current(),
        clients=CLIENTS,
        client=client,
        snippet=snippet(client, visit.site.main_url, await _a_model(visit, chart, by)),
    )


async def _not_completed(visit: Visit, today: date) -> Figure:
    """The calls of the last week that did not come to their end."""
    asked = Asked(first=today - timedelta(days=WEEK - 1), last=today, not_completed=True)
    wanted = asked.wanted(visit.account_id)
    parts = await visit.desks.usage.parts(visit.account_id, wanted, by=asked.by, first=asked.first, last=today)
    return Figure(_total(part.sum for part in parts), asked.link())


def _spent(by_day: Mapping[date, UsageSum], today: date, days: int) -> Spent:
    first = today - timedelta(days=days - 1)
    shape = _last_days(by_day, today, max(days, WEEK))
    return Spent(
        sum=_total(_last_days(by_day, today, days)),
        before=_total(_last_days(by_day, first - timedelta(days=1), days)),
        spark=charts.sparkline([Decimal(each.charged) for each in shape]),
        href=Asked(first=first, last=today).link(),
    )


def _by_day(parts: Sequence[UsagePart]) -> dict[date, UsageSum]:
    sums: dict[date, UsageSum] = {}
    for part in parts:
        sums[part.day] = sums.get(part.day, UsageSum()) + part.sum
    return sums


def _last_days(by_day: Mapping[date, UsageSum], last: date, days: int) -> list[UsageSum]:
    return [by_day.get(last - timedelta(days=back), UsageSum()) for back in reversed(range(days))]


def _total(sums: Iterable[UsageSum]) -> UsageSum:
    return sum(sums, start=UsageSum())


def _is_open(lot: LotRecord, now: datetime) -> bool:
    return lot.closed_at is None and lot.remaining > 0 and lot.expires_at > now


def _lot(visit: Visit, lot: LotRecord, key_names: Mapping[int, str]) -> LotShown:
    left = lot.expires_at - visit.desks.now()
    share = visit.gettext("%(part)s of %(whole)s", part=figures.usd(lot.remaining), whole=figures.usd(lot.granted))
    return LotShown(
        name=visit.gettext(LOT_NAMES.get(lot.source, OTHER_LOT), day=figures.day(lot.created_at, visit.language)),
        remaining=lot.remaining,
        granted=lot.granted,
        expires_at=lot.expires_at,
        days_left=left.days if left < SOON else None,
        href=credits_of(lot.created_at),
        only_key="" if lot.key_id is None else key_name(key_names.get(lot.key_id, f"#{lot.key_id}"), visit.language),
        meter=charts.meter(lot.remaining, lot.granted, told=share, warn=left < SOON),
    )


def _steps(
    visit: Visit, lots: Sequence[LotRecord], keys: Sequence[KeyOnFile], chart: UsageChart
) -> Sequence[FirstStep]:
    called = chart.total.calls > 0 or any(key.used for key in keys)
    return (
        FirstStep(visit.gettext("Top up"), "/top-up", bool(lots)),
        FirstStep(visit.gettext("Make a key"), "/keys", any(not key.for_chat for key in keys)),
        FirstStep(visit.gettext("Send your first call"), "/#connect", called),
        FirstStep(visit.gettext("Turn on a second factor"), "/security/second-factor", visit.session.has_second_factor),
    )


async def _a_model(visit: Visit, chart: UsageChart, by: Breakdown) -> str:
    """One to try: what was used most, or the first that talks."""
    shelf = await visit.desks.catalog.shelf()
    talking = [model.id for model in shelf.models.values() if model.kind is Kind.CHAT and model.only_groups is None]
    used = [name for name in chart.names if name in talking] if by is Breakdown.MODEL else []
    return next(iter([*used, *talking]), "MODEL")


PAGES = (get("/", show),)
