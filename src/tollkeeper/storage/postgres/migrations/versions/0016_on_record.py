"""Money and the audit trail: what each role may do with them, and that it is on record."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run_sql_beside(__file__)
