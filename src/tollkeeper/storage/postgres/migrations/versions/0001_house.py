"""The house: accounts, keys, lots, catalog, provider accounts, nodes, audit."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_sql_beside(__file__)
