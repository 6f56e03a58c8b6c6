"""The places of the side bar of staff."""

from tollkeeper.console.places import Place

STAFF_PLACES = (
    Place("/staff", "chart-bar", "Overview"),
    Place("/staff/disputes", "message-report", "Disputes"),
    Place("/staff/calls", "list-search", "Calls"),
    Place("/staff/bans", "ban", "Bans"),
    Place("/staff/resets", "fingerprint", "Resets"),
    Place("/staff/audit", "history", "Audit"),
)
