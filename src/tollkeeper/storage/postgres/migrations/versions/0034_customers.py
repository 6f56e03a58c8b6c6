"""Accounts are found by names, e-mails and keys, and what happened to one is read from the audit trail."""

from tollkeeper.storage.postgres.indexes import IndexAside
from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0034"
down_revision = "0033"
INDEXES_ASIDE = (
    # By the beginnings of words. Needs no extension, which not every deployment may install.
    IndexAside("account", "account_by_words", "using gin (to_tsvector('simple', name))"),
    # E-mails are ASCII: in this order, those that begin alike stand together.
    IndexAside("login", "login_by_email_start", '(email collate "C")'),
    IndexAside("login", "login_of_staff", "(account_id) where role <> 'customer'"),
    IndexAside("api_key", "api_key_by_hint_end", '("right"(hint, 4))'),
    IndexAside("audit", "audit_by_subject", "(subject, at, id)"),
    IndexAside("ban", "ban_by_account", "(account_id) where account_id is not null"),
)


def upgrade() -> None:
    run_sql_beside(__file__)
