"""Provider accounts in figures by day, so that a week of them is read at once."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    run_sql_beside(__file__)
