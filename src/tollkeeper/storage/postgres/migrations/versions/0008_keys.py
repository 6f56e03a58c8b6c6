"""Keys: the networks from which one may be used, and the key that followed one."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_sql_beside(__file__)
