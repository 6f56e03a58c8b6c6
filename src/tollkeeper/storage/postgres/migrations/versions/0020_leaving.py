"""An e-mail can be changed and an account closed, customers choose their notices, and operators announce things."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    run_sql_beside(__file__)
