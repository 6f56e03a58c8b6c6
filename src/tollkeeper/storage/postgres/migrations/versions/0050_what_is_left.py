"""Holds say what is left after them."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    run_sql_beside(__file__)
