"""Clear away what is long over: sign-up requests, links, sessions, mails, lockouts, forms, refused
calls.

Rules of this file
1. A few thousand rows at a time: after a flood, too, each statement ends long before the database gives it up.
"""

from collections.abc import Mapping
from datetime import timedelta

from tollkeeper.storage.postgres.database import Database

KEPT = timedelta(days=7)
AT_ONCE_MOST = 2_000

# Of each table: by what its rows are named, and which of them are over. Links and mails go with their requests.
OVER: Mapping[str, tuple[str, str]] = {
    "sign_up": ("id", "expires_at < ledger_now() - $1::interval"),
    "email_change": ("id", "expires_at < ledger_now() - $1::interval"),
    "mail_token": ("digest", "expires_at < ledger_now() - $1::interval"),
    "outbox": ("id", "made_at < ledger_now() - $1::interval"),
    "session": ("id", "expires_at < ledger_now() - $1::interval"),
    "sent_form": ("digest", "at < ledger_now() - $1::interval"),
    "refused_call": ("request_id", "at < ledger_now() - least($1::interval, interval '1 day')"),
    "operator_request": ("asker, key", "at < ledger_now() - $1::interval"),
    "lockout": (
        "kind, subject",
        # The first half by the index.
        "window_start < ledger_now() - $1::interval and coalesce(locked_until < ledger_now() - $1::interval, true)",
    ),
}
# Asked of the row as it is when it goes, too: an attempt may have been counted meanwhile.
FORGET = """
with gone as (
    delete from {table}
    where ({key}) in (select {key} from {table} where {over} limit $2) and {over}
    returning 1)
select count(*) as rows from gone
"""


async def forget_old_logins(database: Database, *, at_once_most: int = AT_ONCE_MOST) -> None:
    for table, (key, over) in OVER.items():
        forget = FORGET.format(table=table, key=key, over=over)
        while (await database.row(forget, KEPT, at_once_most))["rows"] >= at_once_most:
            pass
