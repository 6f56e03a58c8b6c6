"""Passkeys: the public keys by which people sign in without a password."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    run_sql_beside(__file__)
