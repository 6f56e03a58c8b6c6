"""Counts of calls are called units, for they are tokens, images, characters or seconds."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    run_sql_beside(__file__)
