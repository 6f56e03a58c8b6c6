"""Calls as CSV, streamed."""

import csv
import io
from collections.abc import AsyncIterator, Iterable

from starlette.responses import Response, StreamingResponse

from tollkeeper.console.visit import Visit
from tollkeeper.core.usage.log import CSV_HEAD, UsagePage, csv_row

EXPORTED_AT_ONCE = 1_000


def as_csv(visit: Visit, pages: AsyncIterator[UsagePage], name: str) -> Response:
    """Every call of the pages, as a file of that name."""
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_rows(visit, pages), media_type="text/csv; charset=utf-8", headers=disposition)


async def _rows(visit: Visit, pages: AsyncIterator[UsagePage]) -> AsyncIterator[str]:
    yield _written([CSV_HEAD])
    while True:
        async with visit.house.turns.of(visit.account_id, waiting_most=None):
            page = await anext(pages, None)
        if page is None:
            return
        yield _written(map(csv_row, page.lines))


def _written(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
