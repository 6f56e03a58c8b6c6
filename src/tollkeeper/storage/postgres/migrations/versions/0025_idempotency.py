"""Calls that are paid for once, by their key."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    run_sql_beside(__file__)
