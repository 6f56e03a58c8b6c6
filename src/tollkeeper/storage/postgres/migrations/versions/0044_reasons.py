"""Every row of an act has its reason; the audit trail is found by who acted."""

from tollkeeper.storage.postgres.indexes import IndexAside
from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0044"
down_revision = "0043"
INDEXES_ASIDE = (IndexAside("audit", "audit_by_actor", "(actor, id)"),)


def upgrade() -> None:
    run_sql_beside(__file__)
