"""The places of the side bar of staff."""

from tollkeeper.console.places import Place

STAFF_PLACES = (
    Place("/staff", "chart-bar", "Overview"),
    Place("/staff/providers", "server-2", "Providers"),
    Place("/staff/figures", "report-money", "Figures"),
    Place("/staff/jobs", "clock-play", "Jobs"),
    Place("/staff/nodes", "heart-rate-monitor", "Nodes"),
    Place("/staff/settings", "adjustments", "Settings"),
    Place("/staff/audit", "history", "Audit"),
)
