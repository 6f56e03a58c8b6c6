"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, brand, overview, webhooks

STAFF: tuple[Page, ...] = (*overview.PAGES, *webhooks.PAGES, *brand.PAGES, *audit.PAGES)
