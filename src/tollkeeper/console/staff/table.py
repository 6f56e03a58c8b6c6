"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, figures, house, overview, provider_acts, providers

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *providers.PAGES,
    *provider_acts.PAGES,
    *figures.PAGES,
    *house.PAGES,
    *audit.PAGES,
)
