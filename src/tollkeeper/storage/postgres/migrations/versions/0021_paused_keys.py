"""Keys that are paused, and resumed."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    run_sql_beside(__file__)
