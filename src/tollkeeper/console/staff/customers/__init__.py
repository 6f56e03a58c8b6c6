"""Customers: found, looked at as a whole, helped and credited; and their console, read as they see it."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff.customers import finding, having, one, reading
from tollkeeper.console.staff.customers.acts import ACCOUNT_DEEDS
from tollkeeper.console.staff.deeds import pages_of

PAGES: tuple[Page, ...] = (*finding.PAGES, *one.PAGES, *having.PAGES, *reading.PAGES, *pages_of(ACCOUNT_DEEDS))
