"""Models for embeddings; and the gateway reads what was added up by day."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    run_sql_beside(__file__)
