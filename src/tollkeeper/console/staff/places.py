"""The places of the side bar of staff. On a phone the first four stand below, and the others behind `More`."""

from collections.abc import Mapping

from tollkeeper.console.places import Place

STAFF_PLACES = (
    Place("/staff", "chart-bar", "Overview"),
    Place("/staff/customers", "users", "Customers"),
    Place("/staff/disputes", "message-report", "Disputes"),
    Place("/staff/calls", "list-search", "Calls"),
    Place("/staff/bans", "ban", "Bans"),
    Place("/staff/resets", "fingerprint", "Resets"),
    Place("/staff/top-ups", "coin", "Top-ups"),
    Place("/staff/withdrawals", "cash", "Withdrawals"),
    Place("/staff/codes", "ticket", "Codes"),
    Place("/staff/providers", "server-2", "Providers"),
    Place("/staff/models", "cpu", "Models"),
    Place("/staff/prices", "tags", "Prices"),
    Place("/staff/groups", "users-group", "Groups"),
    Place("/staff/announcements", "speakerphone", "Announcements"),
    Place("/staff/webhooks", "webhook", "Webhooks"),
    Place("/staff/brand", "palette", "Brand"),
    Place("/staff/figures", "report-money", "Figures"),
    Place("/staff/jobs", "clock-play", "Jobs"),
    Place("/staff/nodes", "heart-rate-monitor", "Nodes"),
    Place("/staff/settings", "adjustments", "Settings"),
    Place("/staff/audit", "history", "Audit"),
)
# What stands above a place, where a group of them begins.
HEADINGS: Mapping[str, str] = {
    "/staff/customers": "Support",
    "/staff/top-ups": "Money",
    "/staff/providers": "Catalog",
    "/staff/announcements": "Service",
    "/staff/figures": "House",
}
