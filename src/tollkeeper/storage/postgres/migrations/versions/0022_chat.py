"""The console's chat has keys of its own kind: of one session each, and ended with it."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    run_sql_beside(__file__)
