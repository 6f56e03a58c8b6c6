"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, overview

STAFF: tuple[Page, ...] = (*overview.PAGES, *audit.PAGES)
