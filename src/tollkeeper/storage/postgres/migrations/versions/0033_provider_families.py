"""Provider accounts that serve the models of one family, and the names of those that were removed."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    run_sql_beside(__file__)
