"""The places of the side bar of staff."""

from tollkeeper.console.places import Place

STAFF_PLACES = (
    Place("/staff", "chart-bar", "Overview"),
    Place("/staff/customers", "users", "Customers"),
    Place("/staff/top-ups", "coin", "Top-ups"),
    Place("/staff/withdrawals", "cash", "Withdrawals"),
    Place("/staff/models", "cpu", "Models"),
    Place("/staff/prices", "tags", "Prices"),
    Place("/staff/groups", "adjustments", "Groups"),
    Place("/staff/codes", "ticket", "Codes"),
    Place("/staff/announcements", "speakerphone", "Announcements"),
    Place("/staff/disputes", "message-report", "Disputes"),
    Place("/staff/calls", "list-search", "Calls"),
    Place("/staff/bans", "ban", "Bans"),
    Place("/staff/resets", "fingerprint", "Resets"),
    Place("/staff/providers", "server-2", "Providers"),
    Place("/staff/figures", "report-money", "Figures"),
    Place("/staff/jobs", "clock-play", "Jobs"),
    Place("/staff/nodes", "heart-rate-monitor", "Nodes"),
    Place("/staff/settings", "adjustments", "Settings"),
    Place("/staff/audit", "history", "Audit"),
)
