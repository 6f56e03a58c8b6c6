"""The relay: what a hold must know of a model's tokens."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_sql_beside(__file__)
