"""Mistakes with the database, each told in a sentence: what happened, and what to do.

Rules of this file
1. What is told names the login, the database and the server, never a password.
2. What waiting does not mend (a wrong password, a missing right) is told apart from a server that is away, and from a
   schema that somebody is about to migrate.
3. Servers speak many languages: their errors are known by SQLSTATE, not by their words.
"""

import getpass
import socket
from collections.abc import Callable, Iterator
from itertools import cycle
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
import msgspec

from tollkeeper.core.errors import ForOperators, StoreUnavailable
from tollkeeper.storage.postgres.connecting import servers_of

OLDEST_VERSION = 15
DEFAULT_PORT = 5432
ROLES = ("tollkeeper_gateway", "tollkeeper_console", "tollkeeper_worker")
GUIDE = "docs/guides/stores.md has the logins and their rights."


class DatabaseUnfit(ForOperators):
    """A database that this version cannot work with; the message says why."""


class SchemaUnfit(DatabaseUnfit):
    """A schema that is not there yet, or too old. Whoever migrates it mends that, and this process sees it."""


# What whoever asks the database may meet.
DATABASE_FAILURES = (StoreUnavailable, DatabaseUnfit, asyncpg.PostgresError, asyncpg.InterfaceError)


class DatabasePlace(msgspec.Struct, frozen=True):
    """Where a database is, for words. Of several servers, hosts and ports have commas between them."""

    host: str
    port: str
    login: str
    name: str

    @property
    def server(self) -> str:
        ports = cycle(self.port.split(","))
        return " or ".join(f"{host}:{port}" for host, port in zip(self.host.split(","), ports, strict=False))

    @property
    def options(self) -> str:
        """The options by which PostgreSQL's own commands find this server."""
        return f"-h {self.host}" + (f" -p {self.port}" if self.port != str(DEFAULT_PORT) else "")


class DatabaseTrouble(msgspec.Struct, frozen=True):
    """What is wrong. `lasts`: until somebody mends it, however long one waits. `is_awaited`: somebody is likely to be
    about to mend it, so that a process which is to run for long waits, while a command ends."""

    told: str
    lasts: bool
    is_awaited: bool = False

    @property
    def ends_processes(self) -> bool:
        return self.lasts and not self.is_awaited


def place_of_database(url: str) -> DatabasePlace:
    """As far as it can be read."""
    places = [_place_of_server(server) for server in servers_of(url)]
    hosts, ports = (",".join(each) for each in ((place.host for place in places), (place.port for place in places)))
    return msgspec.structs.replace(places[0], host=hosts, port=ports)


def _place_of_server(url: str) -> DatabasePlace:
    try:
        address = urlsplit(url)
        host, port = address.hostname, address.port
    except ValueError:
        return DatabasePlace("?", "?", "?", "?")
    query = {name: found[-1] for name, found in parse_qs(address.query).items()}
    login = unquote(address.username or "") or query.get("user") or getpass.getuser()
    name = unquote(address.path.strip("/")) or query.get("dbname") or query.get("database") or login
    return DatabasePlace(
        host or query.get("host", "localhost"), str(port or query.get("port", DEFAULT_PORT)), login, name
    )


def trouble_in(problem: BaseException, place: DatabasePlace) -> DatabaseTrouble | None:
    """What a failure says about the database and our way to it; None where it speaks of something else."""
    for cause in _causes(problem):
        found = _trouble(cause, place)
        if found is not None:
            return found
    return None


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__


def _trouble(problem: BaseException, place: DatabasePlace) -> DatabaseTrouble | None:
    if isinstance(problem, DatabaseUnfit):
        return DatabaseTrouble(str(problem), lasts=True, is_awaited=isinstance(problem, SchemaUnfit))
    if isinstance(problem, asyncpg.PostgresError):
        telling = TOLD.get(problem.sqlstate or "") or TOLD_OF_CLASS.get((problem.sqlstate or "")[:2])
        return None if telling is None else telling(place, problem)
    for kind, telling in TOLD_OF_KIND:
        if isinstance(problem, kind):
            return telling(place, problem)
    return None


TroubleTeller = Callable[[DatabasePlace, BaseException], DatabaseTrouble | None]


def _mistake(words: str) -> Callable[[DatabasePlace, BaseException], DatabaseTrouble]:
    """Something that a person must mend. `{place.…}` and `{problem}` are filled in."""
    return lambda place, problem: DatabaseTrouble(words.format(place=place, problem=_line(problem)), lasts=True)


def _passing(words: str) -> Callable[[DatabasePlace, BaseException], DatabaseTrouble]:
    return lambda place, problem: DatabaseTrouble(words.format(place=place, problem=_line(problem)), lasts=False)


def _awaited(words: str) -> Callable[[DatabasePlace, BaseException], DatabaseTrouble]:
    """What comes with a migration, or with the server itself."""
    told = _mistake(words)
    return lambda place, problem: msgspec.structs.replace(told(place, problem), is_awaited=True)


def _right_missing(place: DatabasePlace, problem: BaseException) -> DatabaseTrouble:
    role = next((role for role in ROLES if f'"{role}"' in str(problem)), None)
    if role is None:
        return DatabaseTrouble(
            f"The login {place.login} lacks a right at {place.name}: {_line(problem)}. {GUIDE}", lasts=True
        )
    return DatabaseTrouble(
        f"The login {place.login} may not act as {role}. Grant it, as an administrator of {place.server}:\n"
        f"    psql {place.options} -c 'grant {role} to \"{place.login}\"' {place.name}\n{GUIDE}",
        lasts=True,
    )


def _session_refused(place: DatabasePlace, problem: BaseException) -> DatabaseTrouble | None:
    """The role of a session is a parameter to the server. Other parameters are none of the database's trouble."""
    return NOT_MIGRATED(place, problem) if any(f'"{role}"' in str(problem) for role in ROLES) else None


def _not_understood(place: DatabasePlace, problem: BaseException) -> DatabaseTrouble:
    """asyncpg raises a plain ConnectionError where it does not understand the server; others are the system's."""
    if type(problem) is not ConnectionError:
        return AWAY(place, problem)
    return DatabaseTrouble(
        f"What answers at {place.server} does not speak as PostgreSQL does ({_line(problem)}). Is "
        "TOLLKEEPER_DATABASE_URL right? (Of a server without TLS: sslmode=prefer.)",
        lasts=False,
    )


def _line(problem: BaseException) -> str:
    return " ".join(str(problem).split()) or type(problem).__name__


NOT_MIGRATED = _awaited(
    "The database {place.name} at {place.server} has no Tollkeeper schema yet, or an older one. "
    "Run 'tollkeeper migrate' first."
)
AWAY = _passing(
    "PostgreSQL at {place.server} does not answer ({problem}). Is it up, and is TOLLKEEPER_DATABASE_URL right?"
)
TOO_OLD = _mistake(
    f"The server at {{place.server}} is too old, or only speaks like PostgreSQL ({{problem}}): PostgreSQL "
    f"{OLDEST_VERSION} or newer is needed."
)

# By SQLSTATE.
TOLD: dict[str, TroubleTeller] = {
    "3D000": _mistake(
        "There is no database {place.name} at {place.server}. Make it:\n"
        "    createdb {place.options} -O {place.login} {place.name}"
    ),
    "28P01": _mistake(
        "PostgreSQL at {place.server} does not accept the login {place.login}: its password is wrong, or there is no "
        "such login. Correct TOLLKEEPER_DATABASE_URL, or make the login:\n"
        "    createuser {place.options} --createrole --pwprompt {place.login}"
    ),
    "28000": _mistake(
        "PostgreSQL at {place.server} does not let the login {place.login} in ({problem}). Where there is no such "
        "login, make it:\n"
        "    createuser {place.options} --createrole --pwprompt {place.login}\n"
        "Where there is one, look at pg_hba.conf of the server."
    ),
    "42501": _right_missing,
    "22023": _session_refused,
    "42704": TOO_OLD,
    "42P01": NOT_MIGRATED,
    "3F000": NOT_MIGRATED,
    "42883": NOT_MIGRATED,
    "42703": NOT_MIGRATED,
    "53300": _passing(
        "PostgreSQL at {place.server} has no connection left for the login {place.login} ({problem}). Wait, or raise "
        "max_connections of the server."
    ),
    "57P03": _passing("PostgreSQL at {place.server} is starting or stopping. Repeat this in a moment."),
    "25006": _passing(
        "PostgreSQL at {place.server} only reads: is it a standby? TOLLKEEPER_DATABASE_URL must name the primary."
    ),
}
TOLD_OF_CLASS: dict[str, TroubleTeller] = {
    "08": AWAY,
    "53": _passing("PostgreSQL at {place.server} has run out of something: {problem}."),
    "57": AWAY,
    "58": _passing("PostgreSQL at {place.server} is in trouble itself: {problem}."),
}
# In order: the first that fits.
TOLD_OF_KIND: tuple[tuple[type[BaseException], TroubleTeller], ...] = (
    (
        asyncpg.ClientConfigurationError,
        _mistake("TOLLKEEPER_DATABASE_URL cannot be read. Write it like postgresql://user:password@host:5432/name."),
    ),
    (
        socket.gaierror,
        # A name may come with its server, as those of containers do.
        _awaited("The name {place.host} is not known here. Is the host in TOLLKEEPER_DATABASE_URL right?"),
    ),
    (
        asyncpg.TargetServerAttributeNotMatched,
        _passing("PostgreSQL at {place.server} only reads: none of them is the primary just now."),
    ),
    (
        asyncpg.InternalClientError,
        _mistake("What answers at {place.server} is not PostgreSQL. Is TOLLKEEPER_DATABASE_URL right?"),
    ),
    (
        TimeoutError,
        _passing(
            "Nobody answered at {place.server} in time, or not in PostgreSQL's language. Is PostgreSQL up there, and "
            "is TOLLKEEPER_DATABASE_URL right?"
        ),
    ),
    (ConnectionError, _not_understood),
)
