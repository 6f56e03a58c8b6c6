"""Disputed charges; second factors that two members of staff drop together."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    run_sql_beside(__file__)
