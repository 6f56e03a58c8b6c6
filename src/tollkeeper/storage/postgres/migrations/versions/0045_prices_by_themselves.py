"""Prices that do not divide: input has a weight of its own."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    run_sql_beside(__file__)
