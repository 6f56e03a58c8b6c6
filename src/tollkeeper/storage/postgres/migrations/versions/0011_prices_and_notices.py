"""Prices that change and are announced, and the notices of lots and balances."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_sql_beside(__file__)
