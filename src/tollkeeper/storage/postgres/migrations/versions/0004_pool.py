"""The pool: where each provider account stands in it, and why one is given nothing."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_sql_beside(__file__)
