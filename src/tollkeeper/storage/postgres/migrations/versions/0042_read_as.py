"""Reading as a customer; restrictions by staff; whoever approves a withdrawal does not pay it."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    run_sql_beside(__file__)
