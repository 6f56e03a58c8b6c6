"""The usage log added up by price, account and day."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    run_sql_beside(__file__)
