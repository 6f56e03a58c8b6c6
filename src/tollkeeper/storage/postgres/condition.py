"""The database as `tollkeeper doctor` finds it: reachable, durable, migrated, with roles that can be taken on.

Rules of this file
1. It connects as the login itself, without a role of ours: those may be what is missing.
2. It changes nothing, and what it tells has no secret in it.
"""

import time
from collections.abc import Sequence

import asyncpg

from tollkeeper.core.diagnosis import Diagnosis, broken, clock, to_do, well
from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.postgres.schema import known_revisions

OLDEST_VERSION = 15
# Of several servers.
NO_PRIMARY = asyncpg.TargetServerAttributeNotMatched
# What must not be lost when the server, or its machine, dies: each setting with the value that risks it.
DURABLE = {
    "fsync": "a crash of the machine can destroy the whole database",
    "full_page_writes": "a crash of the machine can destroy the whole database",
    "synchronous_commit": "quota that was held or charged can be forgotten in a crash",
}
# Of each role a table that it reads in its daily work.
READS = {DatabaseRole.GATEWAY: "api_key", DatabaseRole.CONSOLE: "account", DatabaseRole.WORKER: "job"}

ROLE = """
select exists (select from pg_roles where rolname = $1) as is_there,
       exists (select from pg_roles where rolname = $1) and pg_has_role(current_user, $1, 'member') as is_member
"""
GRANTED = "select has_schema_privilege($1, 'tollkeeper', 'usage') and has_table_privilege($1, $2, 'select')"


async def diagnose_postgres(url: str, patience_seconds: float) -> list[Diagnosis]:
    """What there is to say. Where the first line is broken, nothing else could be looked at."""
    try:
        connection = await connect(url, timeout=patience_seconds, command_timeout=patience_seconds)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError, NO_PRIMARY) as problem:
        return [_not_reached(problem)]
    try:
        return [
            await _version(connection),
            *await _durability(connection),
            await _clock(connection),
            *await _schema_and_roles(connection),
        ]
    finally:
        await connection.close()


def _not_reached(problem: Exception) -> Diagnosis:
    known: dict[type[Exception], tuple[str, str]] = {
        NO_PRIMARY: ("none of the servers takes writes", "Promote one, or wait for what does that."),
        asyncpg.InvalidCatalogNameError: ("the database does not exist", "Make it: createdb NAME"),
        asyncpg.InvalidAuthorizationSpecificationError: (
            "the server does not let this login in",
            "Check user and password in TOLLKEEPER_DATABASE_URL, and the server's pg_hba.conf.",
        ),
        asyncpg.TooManyConnectionsError: ("the server has no connection left", "Raise max_connections."),
    }
    told, remedy = next(
        (words for kind, words in known.items() if isinstance(problem, kind)),
        (
            f"did not answer ({type(problem).__name__})",
            "Is it up, and are host and port in TOLLKEEPER_DATABASE_URL right?",
        ),
    )
    return broken("PostgreSQL", told, remedy)


async def _version(connection: asyncpg.Connection) -> Diagnosis:
    number, standby = await connection.fetchrow(
        "select current_setting('server_version_num')::int / 10000, pg_is_in_recovery()"
    )
    if standby:
        return broken("PostgreSQL", "is a standby and takes no writes", "Point TOLLKEEPER_DATABASE_URL at the primary.")
    if number < OLDEST_VERSION:
        return broken("PostgreSQL", f"is version {number}", f"Upgrade it: {OLDEST_VERSION} or newer is needed.")
    return well("PostgreSQL", f"answers, version {number}")


async def _durability(connection: asyncpg.Connection) -> list[Diagnosis]:
    risks = [
        broken("PostgreSQL durability", f"{name} is off: {risk}", f"alter system set {name} = on, and reload.")
        for name, risk in DURABLE.items()
        if await connection.fetchval("select current_setting($1)", name) == "off"
    ]
    if await connection.fetchval("select current_setting('data_checksums')") == "off":
        told = "data_checksums is off: a disk that returns other bytes than were written is not noticed"
        risks.append(to_do("PostgreSQL checksums", told, "Stop the server, then: pg_checksums --enable"))
    return risks or [well("PostgreSQL durability", "what is committed survives a crash, and pages have checksums")]


async def _clock(connection: asyncpg.Connection) -> Diagnosis:
    begun = time.time()
    there = await connection.fetchval("select extract(epoch from clock_timestamp())::float8")
    return clock("PostgreSQL clock", there - (begun + time.time()) / 2)


async def _schema_and_roles(connection: asyncpg.Connection) -> list[Diagnosis]:
    if not await connection.fetchval("select exists (select from pg_namespace where nspname = 'tollkeeper')"):
        return [broken("schema", "there is none yet", "tollkeeper migrate")]
    roles = [await _role(connection, role) for role in DatabaseRole]
    return [await _schema(connection), *roles, await _login(connection)]


async def _schema(connection: asyncpg.Connection) -> Diagnosis:
    try:
        at = await connection.fetchval("select version_num from tollkeeper.alembic_version")
    except asyncpg.InsufficientPrivilegeError:
        return to_do("schema", "this login may not see its version", "Look with the login that migrates.")
    except asyncpg.UndefinedTableError:
        at = None
    known = known_revisions()
    if at == known[-1]:
        return well("schema", f"is the newest ({at})")
    if at is None or at in known:
        return broken("schema", f"is at {at or 'nothing'}, this program needs {known[-1]}", "tollkeeper migrate")
    return broken("schema", f"is at {at}, which is newer than this program knows", "Upgrade this program.")


async def _role(connection: asyncpg.Connection, role: DatabaseRole) -> Diagnosis:
    about = f"role {role}"
    row = await connection.fetchrow(ROLE, role.value)
    login = await connection.fetchval("select current_user")
    if not row["is_there"]:
        return broken(about, "does not exist", "tollkeeper migrate (it makes the roles of the cluster)")
    if not row["is_member"]:
        return broken(about, f"cannot be taken on by {login}", f"As an administrator: grant {role} to {login}")
    try:
        granted = await connection.fetchval(GRANTED, role.value, f"tollkeeper.{READS[role]}")
    except asyncpg.UndefinedTableError:
        granted = True
    if not granted:
        return broken(
            about, "lacks its rights in this database", "Restore the dump with its grants (without --no-acl)."
        )
    return well(about, f"can be taken on by {login}")


async def _login(connection: asyncpg.Connection) -> Diagnosis:
    login, is_superuser = await connection.fetchrow(
        "select rolname, rolsuper from pg_roles where rolname = current_user"
    )
    if is_superuser:
        remedy = "Give the service a login of its own that is a member of the tollkeeper_* roles, and nothing else."
        return to_do("login", f"{login} is a superuser: nothing in the database is kept from the service", remedy)
    return well("login", f"{login} is no superuser")


def all_well(found: Sequence[Diagnosis]) -> bool:
    """Whether the service's own tables can be looked at."""
    return not any(each.condition == "broken" and not each.about.endswith(("durability", "clock")) for each in found)
