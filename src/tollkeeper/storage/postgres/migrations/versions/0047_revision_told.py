"""Every part may read which revision the schema is at."""

from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    op.execute("grant select on alembic_version to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker")
