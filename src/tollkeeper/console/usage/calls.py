"""The calls: filters, their total, a chart by day, the calls themselves, and all of it as CSV."""

from collections.abc import Iterable
from datetime import date, timedelta

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.usage import filled_page, pages
from tollkeeper.console.pages import get
from tollkeeper.console.usage.asked import Asked, after, read
from tollkeeper.console.usage.chart import usage_chart
from tollkeeper.console.usage.endings import SHORT
from tollkeeper.console.usage.export import EXPORTED_AT_ONCE, as_csv
from tollkeeper.console.visit import Visit
from tollkeeper.core.usage.log import Breakdown, UsageLine, UsagePart, UsageSum, day_of
from tollkeeper.ports import KeyOnFile

SHOWN_AT_ONCE = 50
# A page of a filter that few calls fit may come back short; so often it is gone on from before people are asked to.
READS_MOST = 5
RANGES = (1, 7, 30, 90)


async def show(visit: Visit) -> Response:
    asked = read(visit)
    wanted, usage = asked.wanted(visit.account_id), visit.desks.usage
    page = await filled_page(usage, wanted, after(visit), SHOWN_AT_ONCE, reads_most=READS_MOST)
    if asked.request_id is None:
        parts = await usage.parts(visit.account_id, wanted, by=asked.by, first=asked.first, last=asked.last)
    else:
        parts, asked = _parts_of(page.lines, asked.by), _on_its_day(asked, page.lines)
    keys = await visit.desks.keys.of_account(visit.account_id, chat_too=True)
    key_names = {key.key_id: key.name for key in keys}
    chart = usage_chart(visit, asked, parts, key_names)
    return visit.page(
        "usage/calls.html",
        asked=asked,
        chart=chart,
        page=page,
        is_first_page=after(visit) is None,
        keys=_choices_of_keys(keys, asked),
        models=await _models(visit, parts, asked),
        endings=SHORT,
        ranges=_ranges(asked, visit.desks.now().date()),
        breakdowns=tuple(Breakdown),
    )


async def export(visit: Visit) -> Response:
    """The same calls as CSV, every one of them."""
    asked = read(visit)
    if not visit.form.is_good:
        return await show(visit)
    found = pages(visit.desks.usage, asked.wanted(visit.account_id), EXPORTED_AT_ONCE)
    return as_csv(visit, found, f"usage-{asked.first}-{asked.last}.csv")


def _parts_of(lines: Iterable[UsageLine], by: Breakdown) -> list[UsagePart]:
    """The chart's parts, of the one call that was asked for by its id."""
    return [
        UsagePart(
            day_of(line.request_id),
            line.model_id if by is Breakdown.MODEL else str(line.key_id),
            UsageSum(
                calls=1,
                charged=line.charged,
            ),
        )
        for line in lines
    ]


def _on_its_day(asked: Asked, lines: Iterable[UsageLine]) -> Asked:
    for line in lines:
        day = day_of(line.request_id)
        return msgspec.structs.replace(asked, first=day, last=day)
    return asked


def _choices_of_keys(keys: Iterable[KeyOnFile], asked: Asked) -> list[KeyOnFile]:
    """The keys in use, that of the chat, which the next session has again, and the one that is asked for."""
    return [key for key in keys if key.revoked_at is None or key.for_chat or key.key_id == asked.key_id]


async def _models(visit: Visit, parts: Iterable[UsagePart], asked: Asked) -> list[str]:
    """The models on offer, and those that stand in what is shown."""
    shelf = await visit.desks.catalog.shelf()
    used = {part.name for part in parts} if asked.by is Breakdown.MODEL else set()
    return sorted(({asked.model} if asked.model else set()) | used | set(shelf.models))


def _ranges(asked: Asked, today: date) -> list[tuple[int, str, bool]]:
    """The last days, as links; whether they are what is shown."""
    found = []
    for days in RANGES:
        first = today - timedelta(days=days - 1)
        is_shown = (asked.first, asked.last, asked.request_id) == (first, today, None)
        found.append((days, asked.link(first=first, last=today, request_id=None), is_shown))
    return found


PAGES = (get("/usage", show), get("/usage.csv", export))
