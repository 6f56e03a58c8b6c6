"""The first payment of an account is told to every node: what it may do at once depends on it."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    run_sql_beside(__file__)
