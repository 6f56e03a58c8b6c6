"""A hold for a call that comes alone. And whether a worker lives is judged when it has the lock on the account."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    run_sql_beside(__file__)
