"""Bring the database's schema up to date."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import msgspec
from alembic import command
from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from sqlalchemy.exc import DBAPIError

from tollkeeper.storage.postgres.indexes import build_indexes
from tollkeeper.storage.postgres.rights import check_owner, migrating
from tollkeeper.storage.postgres.trouble import DatabaseUnfit

MIGRATIONS = Path(__file__).parent / "migrations"
# The present text of every stored function.
FUNCTIONS = Path(__file__).parent / "functions"

REVISION = "select version_num from tollkeeper.alembic_version"


class MigrationStep(msgspec.Struct, frozen=True):
    """One migration that is about to be made."""

    number: int
    of: int
    revision: str
    about: str


class Migrated(msgspec.Struct, frozen=True):
    """What came of migrating. `grants`: SQL by which its login could serve as well."""

    steps: int
    grants: list[str]


def migrate(
    database_url: str,
    until: str = "head",
    *,
    begin: Callable[[MigrationStep], None] = lambda _: None,
    more: Path | None = None,
) -> Migrated:
    """Apply every migration that the database lacks, each in a transaction of its own: none holds the locks of another.
    Indexes that one asks for are built before it, in no transaction. `until`: the last one; `begin` is called before
    each; `more`: a folder with further ones. Blocks; run it outside an event loop. Raise DatabaseUnfit."""
    config = _config(more)
    # ConfigParser reads % as interpolation, and URLs have percent-escapes.
    config.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    revision, grants = asyncio.run(_prepared(database_url))
    steps = list(_steps(scripts, revision, until))
    for number, script in enumerate(steps, 1):
        begin(MigrationStep(number, len(steps), script.revision, script.doc.rstrip(".")))
        try:
            asyncio.run(build_indexes(database_url, getattr(script.module, "INDEXES_ASIDE", ())))
            # Nothing is done for one that another migrator has made meanwhile.
            command.upgrade(config, script.revision)
        except DBAPIError as problem:
            raise _failed(script.revision, problem) from None
    return Migrated(len(steps), grants)


def known_revisions() -> list[str]:
    """Every migration, the oldest first."""
    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return [script.revision for script in reversed(list(scripts))]


def newest_revision() -> str:
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


async def _prepared(database_url: str) -> tuple[str | None, list[str]]:
    """Where the schema stands, after the roles were made; and which grants its login lacks."""
    async with migrating(database_url) as (connection, rights):
        await check_owner(connection)
        await connection.execute("set local role tollkeeper_migrations")
        known = await connection.fetchval("select to_regclass('tollkeeper.alembic_version') is not null")
        return (await connection.fetchval(REVISION)) if known else None, rights.left()


def _steps(scripts: ScriptDirectory, revision: str | None, until: str) -> Iterator[Script]:
    """What the database lacks, the oldest first."""
    known = list(scripts.walk_revisions())
    if revision is not None and revision not in {script.revision for script in known}:
        raise DatabaseUnfit(
            f"The schema is at revision {revision}, which this version does not know: a newer Tollkeeper migrated it. "
            "Install that version, or a newer one. Nothing was changed."
        )
    wanted = reversed(list(scripts.walk_revisions("base", until)))
    done = revision is not None
    for script in wanted:
        if not done:
            yield script
        done = done and script.revision != revision


def _failed(revision: str, problem: DBAPIError) -> Exception:
    """A lock that somebody holds is told by the server's own error; anything else with the step that failed."""
    cause: BaseException | None = problem
    while cause is not None and not isinstance(cause, asyncpg.PostgresError):
        cause = cause.__cause__
    if isinstance(cause, asyncpg.LockNotAvailableError):
        held: Exception = cause
        return held
    told = " ".join(str(cause or problem.orig).split())
    return DatabaseUnfit(
        f"Migration {revision} failed and was undone ({told}). Those before it are made. Mend what is in its way, and "
        "migrate again."
    )


def _config(more: Path | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    if more is not None:
        config.set_main_option("path_separator", "newline")
        config.set_main_option("version_locations", f"{MIGRATIONS / 'versions'}\n{more}".replace("%", "%%"))
    return config
