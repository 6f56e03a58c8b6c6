"""Operator keys, and requests of theirs that are done once."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    run_sql_beside(__file__)
