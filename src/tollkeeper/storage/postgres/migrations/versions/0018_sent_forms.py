"""Forms that move money are taken once: the console keeps the digests of those that were sent."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    run_sql_beside(__file__)
