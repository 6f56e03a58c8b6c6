"""Whether the peppers of a process are those that its service needs, looked at before it serves.

Rules of this file
1. Nothing is told where the database cannot tell: a process may start while its database is away, or before its schema
   is there.
"""

import asyncpg

from tollkeeper.app.database import opened
from tollkeeper.app.secrets import known_secrets_of, peppers_of
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.settings import Settings, peppers_in
from tollkeeper.storage.customers.known_secrets import keys_without_pepper, mark_is_known
from tollkeeper.storage.postgres.database import Database, DatabaseRole

KEYS_WITHOUT = (
    "Keys stand under pepper {versions}, which TOLLKEEPER_PEPPERS does not list here: their owners would be answered "
    "401. List it again. `tollkeeper pepper list` says how many keys need it; `tollkeeper pepper retire` gives one up."
)
OTHER_MARK = (
    "The oldest pepper that TOLLKEEPER_PEPPERS lists here is not the one that nodes of this service had, so the "
    "service mark would be another: limits would be counted apart, and a call that is sent again would be charged "
    "again. List the pepper again that was taken out; `tollkeeper pepper retire` says what takes its place. If it is "
    "lost, put mark:$(openssl rand -base64 32) there, the same on every node."
)


async def pepper_trouble(settings: Settings, part: DatabaseRole) -> str | None:
    """Why this part must not serve with these peppers."""
    try:
        async with opened(settings, part) as database:
            if part is DatabaseRole.GATEWAY:
                missing = await keys_without_pepper(database, list(peppers_of(settings).by_version))
                if missing:
                    return KEYS_WITHOUT.format(versions=", ".join(map(str, missing)))
            return None if await mark_is_right(settings, database) else OTHER_MARK
    except (StoreUnavailable, asyncpg.PostgresError):
        return None


async def mark_is_right(settings: Settings, database: Database) -> bool:
    """Whether the service mark is one that nodes had before, or was said in so many words."""
    said = peppers_in(settings.peppers)[1] is not None
    mark = next(secret for secret in known_secrets_of(settings) if secret.startswith("mark:"))
    return said or await mark_is_known(database, mark)
