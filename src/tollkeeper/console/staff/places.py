"""The places of the side bar of staff. On a phone the first four stand below, and the others behind `More`."""

from collections.abc import Mapping, Sequence

from tollkeeper.console.places import Place
from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, Scope, may

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
    Place("/staff/team", "user", "Team"),
    Place("/staff/operator-keys", "key", "Operator keys"),
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
# Those whose pages are for operators alone.
FOR_OPERATORS = frozenset({"/staff/team", "/staff/operator-keys"})


def places_of(role: Role) -> Sequence[Place]:
    """What would be refused is not shown."""
    if may(ROLE_SCOPES[role], Scope.EVERYTHING):
        return STAFF_PLACES
    return [place for place in STAFF_PLACES if place.path not in FOR_OPERATORS]
