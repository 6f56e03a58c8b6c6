"""Webhooks: events that are told to the operator's own programs."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    run_sql_beside(__file__)
