"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, customers, overview, top_ups, withdrawals

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *customers.PAGES,
    *top_ups.PAGES,
    *withdrawals.PAGES,
    *audit.PAGES,
)
