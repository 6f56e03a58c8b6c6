"""Batches of codes that are made once and expire; refused calls, for a day; who decides on cash."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    run_sql_beside(__file__)
