"""The rights that migrating needs, and the SQL that an administrator pastes where one is missing.

Rules of this file
1. The login that migrates becomes a member of every role, where it may grant them: one is enough to begin with.
2. Only what migrating itself needs is demanded. A login that may not act as the gateway is told so, and migrates.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.trouble import GUIDE, OLDEST_VERSION, ROLES, DatabaseUnfit

# One migrator at a time, by an advisory lock.
LOCK = "tollkeeper.migrate"
OWNER = "tollkeeper_migrations"
# From 16 on, who makes a role may grant it, but not act as it; and nobody else may grant it.
GRANTS_BY_ADMIN_OPTION = 16

LOGIN = """
select current_user::text as login, current_database()::text as database, rolsuper, rolcreaterole,
       current_setting('server_version_num')::int / 10000 as version,
       has_database_privilege(current_database(), 'create') as may_create,
       to_regnamespace('tollkeeper') is not null as has_schema
from pg_roles where rolname = current_user
"""
# Roles belong to the whole cluster: another database, or its administrator, may have made them already.
MAKE_ROLES = """
do $$
declare
    part text;
begin
    foreach part in array array['migrations', 'gateway', 'console', 'worker'] loop
        if not exists (select from pg_roles where rolname = 'tollkeeper_' || part) then
            begin
                execute format('create role tollkeeper_%s nologin', part);
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;
end $$
"""
ROLE = """
select pg_has_role(oid, case when $2 then 'set' else 'member' end) as may_be,
       pg_has_role(oid, 'member with admin option') as is_admin
from pg_roles where rolname = $1
"""
# Whose the schema's own table of versions is, where there is one.
OWNER_OF_SCHEMA = """
select pg_get_userbyid(c.relowner)::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'tollkeeper' and c.relname = 'alembic_version'
"""
CONNECT_SECONDS = 10.0


class RoleRights(msgspec.Struct, frozen=True):
    """What a login may do with one role."""

    name: str
    exists: bool = False
    may_be: bool = False
    may_grant: bool = False


class LoginRights(msgspec.Struct, frozen=True, kw_only=True):
    """What the login that migrates may do, as it stands."""

    login: str
    database: str
    version: int
    may_make_roles: bool
    may_make_schema: bool
    roles: Sequence[RoleRights]

    def missing(self) -> list[str]:
        """SQL that somebody else must run before this login can migrate."""
        owner = next(role for role in self.roles if role.name == OWNER)
        absent = [role.name for role in self.roles if not role.exists]
        found = [] if self.may_make_roles else [f"create role {name} nologin;" for name in absent]
        if not owner.may_be and not (owner.may_grant if owner.exists else self.may_make_roles):
            found.append(f"grant {OWNER} to {_quoted(self.login)};")
        if not self.may_make_schema:
            found.append(f"grant create on database {_quoted(self.database)} to {_quoted(self.login)};")
        return found

    def left(self) -> list[str]:
        """SQL that lets this login serve as well, where it cannot see to that itself."""
        names = [role.name for role in self.roles if role.exists and not role.may_be and not role.may_grant]
        return [f"grant {name} to {_quoted(self.login)};" for name in names if name != OWNER]

    def check(self) -> None:
        """Raise DatabaseUnfit with what to do."""
        if self.version < OLDEST_VERSION:
            raise DatabaseUnfit(
                f"The server is PostgreSQL {self.version}; PostgreSQL {OLDEST_VERSION} or newer is needed. "
                "Nothing was changed."
            )
        missing = self.missing()
        if missing:
            pasted = "\n".join(f"    {line}" for line in missing)
            raise DatabaseUnfit(
                f"The login {self.login} may not migrate {self.database}. Nothing was changed. As an administrator of "
                f"the server, in that database:\n{pasted}\n"
                f"or give it the right to make roles, and let it own the database. {GUIDE}"
            )


async def rights_of(connection: asyncpg.Connection) -> LoginRights:
    row = await connection.fetchrow(LOGIN)
    by_option = row["version"] >= GRANTS_BY_ADMIN_OPTION
    makes_roles = row["rolsuper"] or row["rolcreaterole"]
    roles = []
    for name in (OWNER, *ROLES):
        found = await connection.fetchrow(ROLE, name, by_option)
        may_grant = found is not None and (found["is_admin"] or row["rolsuper"] or (makes_roles and not by_option))
        roles.append(RoleRights(name, found is not None, found is not None and found["may_be"], may_grant))
    return LoginRights(
        login=row["login"],
        database=row["database"],
        version=row["version"],
        may_make_roles=makes_roles,
        may_make_schema=row["may_create"] or row["has_schema"],
        roles=roles,
    )


async def prepare(connection: asyncpg.Connection) -> LoginRights:
    """Make the roles and give them to the login that migrates, as far as it may. Raise DatabaseUnfit where it may not
    migrate; then nothing was changed."""
    (await rights_of(connection)).check()
    await connection.execute(MAKE_ROLES)
    rights = await rights_of(connection)
    for role in rights.roles:
        if not role.may_be and role.may_grant:
            await connection.execute(f"grant {role.name} to {_quoted(rights.login)}")
    return rights


async def make_roles(database_url: str) -> None:
    """Make the roles that the cluster lacks, which a dump of one database does not have; nothing else."""
    async with migrating(database_url):
        pass


@asynccontextmanager
async def migrating(database_url: str) -> AsyncIterator[tuple[asyncpg.Connection, LoginRights]]:
    """A connection with the roles made, while no other migrator has one. Raise DatabaseUnfit."""
    connection = await connect(database_url, timeout=CONNECT_SECONDS)
    try:
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock(hashtext($1))", LOCK)
            rights = await prepare(connection)
            yield connection, rights
    finally:
        await connection.close()


async def check_owner(connection: asyncpg.Connection) -> None:
    """Raise DatabaseUnfit where the schema belongs to another role than ours."""
    owner = await connection.fetchval(OWNER_OF_SCHEMA)
    if owner not in (None, OWNER):
        raise DatabaseUnfit(
            f"The schema of this database belongs to '{owner}', not to {OWNER}: it was restored before its roles were "
            "there, and lacks their grants. Nothing was changed. Drop the database, make it anew, run 'tollkeeper "
            "migrate --roles-only', and restore the dump again."
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
