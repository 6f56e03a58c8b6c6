"""The last verdict of a check stays on record when a later run cannot be made."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    run_sql_beside(__file__)
