"""The places of the side bar of staff."""

from tollkeeper.console.places import Place

STAFF_PLACES = (
    Place("/staff", "chart-bar", "Overview"),
    Place("/staff/customers", "users", "Customers"),
    Place("/staff/top-ups", "coin", "Top-ups"),
    Place("/staff/withdrawals", "cash", "Withdrawals"),
    Place("/staff/audit", "history", "Audit"),
)
