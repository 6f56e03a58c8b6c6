"""Statements of a month read what was added up by day, and not every call."""

from tollkeeper.storage.postgres.indexes import IndexAside
from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0023"
down_revision = "0022"
# What went otherwise than by calls: a few entries among very many.
INDEXES_ASIDE = (
    IndexAside("entry", "entry_not_of_calls", "(account_id, cause) where kind not in ('charged', 'overrun', 'debt')"),
)


def upgrade() -> None:
    run_sql_beside(__file__)
