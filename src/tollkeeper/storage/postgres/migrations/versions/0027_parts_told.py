"""Mails of price changes tell the parts of a price, before and after."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    run_sql_beside(__file__)
