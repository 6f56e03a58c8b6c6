"""The days of provider accounts, from the hours that there are."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    run_sql_beside(__file__)
