"""Media: prices of variants, and what the catalog says of media models."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_sql_beside(__file__)
