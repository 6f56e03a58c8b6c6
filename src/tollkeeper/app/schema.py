"""The schema and the roles of the database that the settings name.

Loaded by `tollkeeper migrate` alone: Alembic and SQLAlchemy take 0.4 s and 30 MB.
"""

from collections.abc import Callable

from tollkeeper.settings import Settings
from tollkeeper.storage.postgres import rights, schema


def migrate(settings: Settings, say: Callable[[str], None]) -> schema.Migrated:
    """Apply every migration that the database lacks; `say` is given a line for each, before it is made."""
    return schema.migrate(
        settings.database_url.reveal(),
        begin=lambda step: say(f"{step.number}/{step.of}  {step.revision}  {step.about}"),
    )


def newest_revision() -> str:
    return schema.newest_revision()


async def make_roles(settings: Settings) -> None:
    await rights.make_roles(settings.database_url.reveal())
