"""Quota coming in: redemption codes, top-ups, the rewards of the partner plan, and the faucet."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_sql_beside(__file__)
