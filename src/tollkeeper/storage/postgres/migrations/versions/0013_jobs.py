"""The book of jobs: who does each, when it was done last, and what came of it."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_sql_beside(__file__)
