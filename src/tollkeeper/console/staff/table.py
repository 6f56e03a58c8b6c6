"""Every page of staff."""

from tollkeeper.console.pages import Page
from tollkeeper.console.staff import audit, customers, overview, top_ups, withdrawals

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *customers.PAGES,
    *top_ups.PAGES,
    *withdrawals.PAGES,
from tollkeeper.console.staff import announcements, audit, codes, groups, models, overview, prices

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *models.PAGES,
    *prices.PAGES,
    *groups.PAGES,
    *codes.PAGES,
    *announcements.PAGES,
from tollkeeper.console.staff import audit, bans, calls, disputes, overview, resets

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *disputes.PAGES,
    *calls.PAGES,
    *bans.PAGES,
    *resets.PAGES,
from tollkeeper.console.staff import audit, figures, house, overview, provider_acts, providers

STAFF: tuple[Page, ...] = (
    *overview.PAGES,
    *providers.PAGES,
    *provider_acts.PAGES,
    *figures.PAGES,
    *house.PAGES,
    *audit.PAGES,
)
