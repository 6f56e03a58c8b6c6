"""Parameters that an operator lets pass to a provider account."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run_sql_beside(__file__)
