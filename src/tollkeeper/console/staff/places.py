"""The places of the side bar of staff."""

from tollkeeper.console.places import Place

STAFF_PLACES = (
    Place("/staff", "chart-bar", "Overview"),
    Place("/staff/webhooks", "webhook", "Webhooks"),
    Place("/staff/brand", "palette", "Brand"),
    Place("/staff/audit", "history", "Audit"),
)
