"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, bans, calls, disputes, overview, resets

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *disputes.PAGES,
    *calls.PAGES,
    *bans.PAGES,
    *resets.PAGES,
    *audit.PAGES,
)
