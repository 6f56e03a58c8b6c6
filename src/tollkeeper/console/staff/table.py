"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, overview, webhooks

STAFF: tuple[Page, ...] = (*overview.PAGES, *webhooks.PAGES, *audit.PAGES)
