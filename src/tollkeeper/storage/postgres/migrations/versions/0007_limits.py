"""Limits: the rates of groups, time at peak, restrictions and bans."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_sql_beside(__file__)
