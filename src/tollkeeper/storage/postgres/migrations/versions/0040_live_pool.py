"""What processes know of the pool at this moment; failures of provider accounts by hour and kind."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    run_sql_beside(__file__)
