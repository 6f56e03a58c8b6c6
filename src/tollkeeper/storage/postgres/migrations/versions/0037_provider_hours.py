"""The usage log added up by provider account, model and hour."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    run_sql_beside(__file__)
