"""A process's first look at its database, before it serves: mistakes that waiting does not mend are told at once.

Rules of this file
1. A database that is away is waited for, and a schema that is not there yet or too old: any process may start first. A
   wrong password, a missing right or a missing database ends the command, in words; whoever supervises the process
   starts it again.
"""

from tollkeeper.app.database import database_of
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.revision import SchemaWatch
from tollkeeper.storage.postgres.trouble import DATABASE_FAILURES, DatabaseTrouble, SchemaUnfit

__all__ = ["DatabaseRole", "first_look"]

NO_SCHEMA = "The database has no Tollkeeper schema yet. Run 'tollkeeper migrate' first."

# For whatever reason that has no words of its own.
UNANSWERED = DatabaseTrouble("The database does not answer.", lasts=False)


async def first_look(settings: Settings, part: DatabaseRole) -> DatabaseTrouble | None:
    """What is in the way of this part, None where nothing is."""
    database = database_of(settings, part, connections=1)
    try:
        await database.open()
        if not await database.has_schema():
            raise SchemaUnfit(NO_SCHEMA)
        await SchemaWatch(database).check()
    except DATABASE_FAILURES as problem:
        trouble = database.trouble(problem)
        if trouble is None and not isinstance(problem, StoreUnavailable):
            raise
        return trouble or UNANSWERED
    finally:
        await database.close()
    return None


async def why_not_ready(database: Database, schema: SchemaWatch) -> str:
    """What is in the way of a process that runs, in words; empty where nothing is."""
    try:
        await schema.check()
        # What was good a moment ago is not looked at again by that.
        await database.has_schema()
    except DATABASE_FAILURES as problem:
        trouble = database.trouble(problem) or UNANSWERED
        return trouble.told
    return ""
