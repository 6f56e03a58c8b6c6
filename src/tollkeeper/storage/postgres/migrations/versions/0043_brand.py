"""The operator's brand: name, logo, colours, legal pages."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    run_sql_beside(__file__)
