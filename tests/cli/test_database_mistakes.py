"""Mistakes with the database: a sentence, what to do, and an exit code; for every kind of command."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tools.node import own_deployment
from tools.node import tollkeeper as tollkeeper_process
from tools.services import Postgres, Redis
from tools.services.process import free_port

pytestmark = pytest.mark.not_quick

STORE = 3
# One of each kind: what migrates, what serves, what works beside it, what asks once.
KINDS = (("migrate",), ("serve",), ("work",), ("console",), ("account", "create", "Ada"))
# Those that need no process of their own.
QUICK = (("migrate",), ("account", "create", "Ada"))
SCENE = """
create role maker login createrole password 'good';
create role owner login password 'good';
create role gateway login password 'good';
create role sleeper nologin;
create database of_maker owner maker;
create database of_owner owner owner;
create database empty;
"""


class Cluster:
    """A server of PostgreSQL that nobody migrated anything in yet."""

    def __init__(self, postgres: Postgres, settings: dict[str, str]) -> None:
        self.postgres = postgres
        self._settings = settings
        for statement in filter(str.strip, SCENE.split(";")):
            self.run(statement)

    def run(self, sql: str, database: str = "postgres") -> None:
        async def ask() -> None:
            connection = await asyncpg.connect(self.postgres.database_url(database))
            try:
                await connection.execute(sql)
            finally:
                await connection.close()

        asyncio.run(ask())

    def url(self, login: str, database: str, password: str = "good") -> str:  # noqa: S107 (of a server that lives for a test)
        return f"postgresql://{login}:{password}@127.0.0.1:{self.postgres.port}/{database}"

    def settings(self, url: str) -> dict[str, str]:
        return self._settings | {"TOLLKEEPER_DATABASE_URL": url}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        redis, postgres = stack.enter_context(Redis()), stack.enter_context(Postgres())
        places = {"TOLLKEEPER_REDIS_URL": redis.url, "TOLLKEEPER_JOURNAL_FOLDER": str(tmp_path_factory.mktemp("j"))}
        ports = {name: str(free_port()) for name in ("TOLLKEEPER_PORT", "TOLLKEEPER_CONSOLE_PORT")}
        patience = {"TOLLKEEPER_STORE_PATIENCE_SECONDS": "2"}
        yield Cluster(postgres, own_deployment() | places | ports | patience)


def told(cluster: Cluster, url: str, *arguments: str) -> str:
    """What is said on standard error, in one line."""
    run = tollkeeper_process if arguments[0] in {"serve", "work", "console"} else tollkeeper
    done = run(cluster.settings(url), *arguments)
    assert done.returncode == STORE, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "good" not in done.stderr
    assert len(done.stderr.splitlines()) <= 9, done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("arguments", KINDS, ids=" ".join)
def test_a_database_that_is_not_there_is_told_with_the_command_that_makes_it(
    cluster: Cluster, arguments: tuple[str, ...]
) -> None:
    said = told(cluster, cluster.url("maker", "nowhere"), *arguments)
    assert f"There is no database nowhere at 127.0.0.1:{cluster.postgres.port}." in said
    assert f"createdb -h 127.0.0.1 -p {cluster.postgres.port} -O maker nowhere" in said


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
@pytest.mark.parametrize(
    ("login", "password"),
    [("maker", "wrong"), ("nobody", "good"), ("sleeper", "good")],
    ids=["password", "login", "nologin"],
)
def test_a_login_that_is_not_accepted_is_told(
    cluster: Cluster, arguments: tuple[str, ...], login: str, password: str
) -> None:
    said = told(cluster, cluster.url(login, "empty", password), *arguments)
    assert f"does not accept the login {login}" in said
    assert f"--createrole --pwprompt {login}" in said


def test_a_database_that_is_not_migrated_is_told(cluster: Cluster) -> None:
    """Processes that serve wait for it (tests/journeys/test_odd_days.py)."""
    url = cluster.postgres.database_url("empty")
    # Without roles in the cluster, and with them.
    assert "Run 'tollkeeper migrate' first." in told(cluster, url, "account", "create", "Ada")


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_a_server_that_is_away_is_told(cluster: Cluster, arguments: tuple[str, ...]) -> None:
    port = free_port()
    said = told(cluster, f"postgresql://maker:good@127.0.0.1:{port}/x", *arguments)
    assert f"PostgreSQL at 127.0.0.1:{port} does not answer" in said
    assert "is not known here" in told(cluster, "postgresql://maker:good@nowhere.invalid/x", *arguments)


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_what_is_not_postgresql_is_told(cluster: Cluster, arguments: tuple[str, ...]) -> None:
    redis = urlsplit(cluster.settings("")["TOLLKEEPER_REDIS_URL"])
    said = told(cluster, f"postgresql://maker:good@127.0.0.1:{redis.port}/x", *arguments)
    assert re.search("not in PostgreSQL's language|does not speak as PostgreSQL does", said)
    assert "cannot be read" in told(cluster, "postgresql://maker:good@127.0.0.1:1/x?sslmode=perhaps", *arguments)


def test_a_login_without_the_rights_to_migrate_is_told_what_to_paste_and_then_migrates(cluster: Cluster) -> None:
    url = cluster.url("owner", "of_owner")
    done = tollkeeper(cluster.settings(url), "migrate")
    assert done.returncode == STORE
    assert "The login owner may not migrate of_owner. Nothing was changed." in done.stderr
    pasted = re.findall(r"^ {4}(.+;)$", done.stderr, re.MULTILINE)
    assert pasted[0] == "create role tollkeeper_migrations nologin;"
    for line in pasted:
        cluster.run(line, "of_owner")
    migrated = tollkeeper(cluster.settings(url), "migrate")
    assert migrated.returncode == 0, migrated
    assert "This login may migrate, but not serve." in migrated.stdout
    # What it says then lets it serve.
    assert 'grant tollkeeper_console to "owner"' in told(cluster, url, "account", "create", "Ada")
    for line in re.findall(r"^ {4}(grant .+;)$", migrated.stdout, re.MULTILINE):
        cluster.run(line, "of_owner")
    assert tollkeeper(cluster.settings(url), "account", "create", "Ada").stdout == "account 1\n"


def test_the_login_that_the_readme_asks_for_is_enough(cluster: Cluster) -> None:
    """It may make roles and owns its database."""
    settings = cluster.settings(cluster.url("maker", "of_maker"))
    migrated = tollkeeper(settings, "migrate")
    assert (migrated.returncode, migrated.stderr) == (0, "")
    steps = re.findall(r"^(\d+)/(\d+)  (\d{4})  \S", migrated.stdout, re.MULTILINE)
    assert [step[0] for step in steps] == [str(number) for number in range(1, len(steps) + 1)]
    assert {step[1] for step in steps} == {str(len(steps))}
    assert "may migrate, but not serve" not in migrated.stdout
    assert tollkeeper(settings, "account", "create", "Ada").stdout == "account 1\n"
    assert tollkeeper(settings, "books", "check").returncode == 0
    again = tollkeeper(settings, "migrate")
    assert re.fullmatch(r"The schema is at revision \d{4}, as it was before\.\n", again.stdout)


def test_a_login_that_may_not_make_a_schema_is_told_what_to_paste(cluster: Cluster) -> None:
    said = told(cluster, cluster.url("maker", "empty"), "migrate")
    assert 'grant create on database "empty" to "maker";' in said


def test_a_part_that_may_not_act_as_its_role_is_told_the_grant(cluster: Cluster, tmp_path: Path) -> None:
    tollkeeper(cluster.settings(cluster.url("maker", "of_maker")), "migrate")
    url = cluster.url("gateway", "of_maker")
    for command, role in (("serve", "gateway"), ("work", "worker"), ("console", "console")):
        said = told(cluster, url, command)
        assert f"The login gateway may not act as tollkeeper_{role}." in said
        assert f"'grant tollkeeper_{role} to \"gateway\"' of_maker" in said


def test_a_schema_of_a_newer_version_is_told(cluster: Cluster) -> None:
    tollkeeper(cluster.settings(cluster.url("maker", "of_maker")), "migrate")
    cluster.run("create database newer template of_maker owner maker")
    cluster.run("update tollkeeper.alembic_version set version_num = '9000'", "newer")
    said = told(cluster, cluster.url("maker", "newer"), "migrate")
    assert "The schema is at revision 9000, which this version does not know" in said
