"""The ledger: holds, entries, the usage log, workers."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql_beside(__file__)
