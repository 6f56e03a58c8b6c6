"""The demo's folder, stores and settings: where `tollkeeper demo` and the pictures of the console begin.

Rules of this file
1. DATABASE_URL is a variable of many programs. A database that it names is used only if there is nothing in it.
2. What the demo wrote into such a database stays there, and is told (`LEFT`) when the demo ends.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import redis

from tollkeeper.demo.environment import fresh_secrets
from tollkeeper.demo.past.story import Told, tell_story
from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.servers import Postgres, Redis
from tollkeeper.demo.servers.orphans import FolderWatch
from tollkeeper.demo.servers.postgres import MissingProgram, binary
from tollkeeper.settings import Settings, load
from tollkeeper.storage.postgres import schema
from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.rights import OWNER
from tollkeeper.storage.postgres.trouble import ROLES

IN_USE = (
    "DATABASE_URL names a database that is in use: it has {}. The demo would write customers with quota into it. Give "
    "it an empty database, or unset DATABASE_URL: then it starts a PostgreSQL of its own."
)
LEFT = f"""
The database that DATABASE_URL names keeps what the demo wrote: the schema tollkeeper, and on its server four roles. To
remove them there (the roles only if no other Tollkeeper uses that server):
    drop schema tollkeeper cascade;
    drop owned by {", ".join((OWNER, *ROLES))};
    drop role {", ".join((OWNER, *ROLES))};
"""
# The first thing in a database that somebody made, and no extension: our own schema, or any table or view.
FOUND = """
select case when to_regnamespace('tollkeeper') is not null then 'the schema tollkeeper' else (
    select format('the table %I.%I', n.nspname, c.relname)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'f', 'v', 'm') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
      and not exists (select from pg_depend d
                      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    order by n.nspname, c.relname limit 1
) end
"""
MISSING = "{} not installed: on Debian and Ubuntu, sudo apt install {}; or set {}."


@contextlib.contextmanager
def demo_folder() -> Iterator[Path]:
    """Gone afterwards, however this process ends. Stores, which may have another user, can go through it."""
    folder = Path(tempfile.mkdtemp(prefix="tollkeeper-demo-"))
    watch = FolderWatch(folder)
    try:
        folder.chmod(0o711)
        yield folder
    finally:
        watch.clear_up()


def check_programs() -> None:
    """Raise CannotRun, with how to get them, where stores have to be started and their programs are missing."""
    missing = {}
    if not os.environ.get("DATABASE_URL") and not _has_postgres():
        missing["PostgreSQL"] = ("postgresql", "DATABASE_URL to an empty database")
    if not os.environ.get("REDIS_URL") and shutil.which("redis-server") is None:
        missing["Redis"] = ("redis-server", "REDIS_URL to a running server")
    if missing:
        packages, variables = zip(*missing.values(), strict=True)
        who = " and ".join(missing) + (" is" if len(missing) == 1 else " are")
        raise CannotRun(MISSING.format(who, " ".join(packages), " and ".join(variables)))


def _has_postgres() -> bool:
    try:
        return all(binary(name) for name in ("initdb", "postgres", "pg_isready"))
    except MissingProgram:
        return False


@contextlib.contextmanager
def demo_settings() -> Iterator[dict[str, str]]:
    """Settings of a deployment of its own, on stores of its own or on those that DATABASE_URL and REDIS_URL name."""
    check_programs()
    with ExitStack() as stack:
        folder = stack.enter_context(demo_folder())
        yield fresh_secrets() | {
            "TOLLKEEPER_DATABASE_URL": os.environ.get("DATABASE_URL")
            or stack.enter_context(Postgres(within=folder)).url,
            "TOLLKEEPER_REDIS_URL": _given_redis() or stack.enter_context(Redis(within=folder)).url,
            "TOLLKEEPER_JOURNAL_FOLDER": f"{folder}/journal",
            "TOLLKEEPER_LOG_SITE": f"file://{folder}/log-site",
        }


def _given_redis() -> str | None:
    url = os.environ.get("REDIS_URL")
    if url:
        try:
            with redis.Redis.from_url(url) as asked:
                asked.ping()
        except (redis.RedisError, ValueError, OSError) as problem:
            raise CannotRun(f"The Redis that REDIS_URL names does not answer: {problem}.") from None
    return url


def furnish(settings: Mapping[str, str]) -> Told:
    """A schema, a catalog, and a customer with a past. Raise CannotRun where there is anything in the database."""
    check_database(settings)
    make_schema(settings)
    return write_past(settings)


def check_database(settings: Mapping[str, str]) -> None:
    """Before anything is written. Raise CannotRun."""
    asyncio.run(check_empty(load(settings)))


def make_schema(settings: Mapping[str, str]) -> None:
    schema.migrate(load(settings).database_url.reveal())


def write_past(settings: Mapping[str, str], progress: Callable[[float], None] = lambda _: None) -> Told:
    """`progress` is told which part of it is done."""
    return asyncio.run(tell_story(load(settings), progress))


async def check_empty(settings: Settings) -> None:
    """Raise CannotRun where there is anything in the database, or it does not answer."""
    try:
        found = await _first_thing_in(settings.database_url.reveal())
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:
        raise CannotRun(f"The database that DATABASE_URL names does not answer: {problem}.") from None
    if found is not None:
        raise CannotRun(IN_USE.format(found))


async def _first_thing_in(database_url: str) -> str | None:
    owner = await connect(database_url)
    try:
        found: str | None = await owner.fetchval(FOUND)
        return found
    finally:
        await owner.close()


def what_is_left(settings: Mapping[str, str]) -> str | None:
    """What the demo leaves in a database that was given; None where that goes with it, or nothing was written yet."""
    if not os.environ.get("DATABASE_URL"):
        return None
    try:
        return LEFT if asyncio.run(_first_thing_in(load(settings).database_url.reveal())) else None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        # It is away: better told for nothing than left without a word.
        return LEFT
