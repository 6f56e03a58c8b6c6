"""The catalog at the operator's desk: media limits that change, models and groups that are removed."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    run_sql_beside(__file__)
