"""The usage log over time: found by every filter, added up by day, cleaned by day."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_sql_beside(__file__)
