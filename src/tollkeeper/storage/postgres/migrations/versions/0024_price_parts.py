"""Parts of prices and of usage."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    run_sql_beside(__file__)
