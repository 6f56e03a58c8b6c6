"""Plans of the ledger's functions that do not depend on what the planner knows of a table."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_sql_beside(__file__)
