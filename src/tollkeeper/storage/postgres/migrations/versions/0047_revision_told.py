"""Every part may read which revision the schema is at."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    run_sql_beside(__file__)
