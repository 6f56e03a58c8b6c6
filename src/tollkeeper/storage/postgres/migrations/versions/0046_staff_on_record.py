"""Operator keys and roles of staff, given and taken on the record alone."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    run_sql_beside(__file__)
