"""Bring the database's schema up to date."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(database_url: str, until: str = "head") -> None:
    """Apply every migration that the database lacks, each in a transaction of its own: none holds the locks of another.
    `until`: the last one. Blocks; run it outside an event loop."""
    config = _config()
    # ConfigParser reads % as interpolation, and URLs have percent-escapes.
    config.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    for script in reversed(list(ScriptDirectory.from_config(config).walk_revisions("base", until))):
        # Nothing is done for one that is there.
        command.upgrade(config, script.revision)


def newest_revision() -> str:
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
