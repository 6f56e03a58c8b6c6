"""Seals of closed days: what the books were made of when they were checked."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    run_sql_beside(__file__)
