"""Peppers can be rotated and retired: keys are digested anew on use, and what stands under each version is known."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    run_sql_beside(__file__)
