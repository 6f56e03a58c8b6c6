"""The places of the side bar and of a phone's bottom bar. One that has no page in the table is not shown."""

from typing import NamedTuple

from tollkeeper.console.words import marked


class Place(NamedTuple):
    path: str
    icon: str
    words: str


PLACES = (
    Place("/", "home", marked("Home")),
    Place("/usage", "chart-bar", marked("Usage")),
    Place("/keys", "key", marked("Keys")),
    Place("/top-up", "credit-card-pay", marked("Top up")),
    Place("/statements", "receipt-2", marked("Statements")),
    Place("/logs", "history", marked("Cleaned logs")),
    Place("/prices", "tags", marked("Prices")),
    Place("/chat", "message-circle", marked("Chat")),
    Place("/partner", "users-group", marked("Partner plan")),
    Place("/notices", "bell", marked("Notices")),
    Place("/security", "shield-lock", marked("Security")),
)
# A phone has room for five, of which the last opens the others.
TAB_BAR = frozenset({"/", "/usage", "/keys", "/top-up"})
