"""The vendors: what a provider account does not take, and which version of its interface it is asked in."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_sql_beside(__file__)
