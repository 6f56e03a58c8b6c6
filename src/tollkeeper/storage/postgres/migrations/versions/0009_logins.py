"""Logins: e-mail and password, second factors, sessions, sign-ups, mails to send, and lockouts."""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_sql_beside(__file__)
