"""Cleaned logs: a customer's own calls in the copy that the last cleanup of the usage log left at the log site.

Rules of this file
1. The log site has everybody's calls; whoever is signed in sees theirs, and no file of it.
2. That the log site is away is told on the page, and is nobody's fault who looks at it.
"""

import logging

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.cleaned_log import CustomersCopy
from tollkeeper.console.pages import get
from tollkeeper.console.usage.asked import after
from tollkeeper.console.usage.endings import SHORT
from tollkeeper.console.usage.export import EXPORTED_AT_ONCE, as_csv
from tollkeeper.console.visit import Visit
from tollkeeper.core.usage.log import UsagePage
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.usage import LogSiteFailed

SHOWN_AT_ONCE = 50

log = logging.getLogger(__name__)


class LogsShown(msgspec.Struct, frozen=True, kw_only=True):
    copy: CustomersCopy | None = None
    page: UsagePage = UsagePage((), None)
    is_away: bool = False


async def show(visit: Visit) -> Response:
    shown = await _read(visit)
    return visit.page(
        "logs.html",
        status=503 if shown.is_away else 200,
        shown=shown,
        is_first_page=after(visit) is None,
        endings=SHORT,
    )


async def export(visit: Visit) -> Response:
    """All of them as CSV. The first piece is read before anything is sent, so that a failure is told in time."""
    shown = await _read(visit)
    if shown.is_away:
        return await show(visit)
    if shown.copy is None:
        raise NotOnFile("There is no copy.")
    days = shown.copy.manifest.days
    return as_csv(visit, shown.copy.pages(EXPORTED_AT_ONCE), f"cleaned-logs-{days[0].day}-{days[-1].day}.csv")


async def _read(visit: Visit) -> LogsShown:
    try:
        copy = await _copy(visit)
        if copy is None:
            return LogsShown()
        return LogsShown(copy=copy, page=await copy.page(after=after(visit), limit=SHOWN_AT_ONCE))
    except LogSiteFailed as problem:
        log.warning("cleaned logs cannot be shown: %s", problem)
        return LogsShown(is_away=True)


async def _copy(visit: Visit) -> CustomersCopy | None:
    """None where nothing was cleaned yet, or nothing of it is kept."""
    site = visit.desks.log_site
    manifest = None if site is None else await site.manifest()
    if site is None or manifest is None or not manifest.days:
        return None
    keys = await visit.desks.keys.of_account(visit.account_id, chat_too=True)
    key_names = {key.key_id: key.name for key in keys}
    return CustomersCopy(site=site, manifest=manifest, account_id=visit.account_id, key_names=key_names)


PAGES = (get("/logs", show), get("/logs.csv", export))
