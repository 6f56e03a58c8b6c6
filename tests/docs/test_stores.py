"""What docs/guides/stores.md tells an administrator to type, on a server where nothing was made yet."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tollkeeper.demo.servers.postgres import binary
from tools.documented.blocks import blocks_of
from tools.node import own_deployment
from tools.services import Postgres

pytestmark = pytest.mark.not_quick

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "stores.md"
OF_THIS_TEST = [block for block in blocks_of(PAGE.name, PAGE.read_text()) if block.run_by]


@pytest.fixture
def server() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


def as_administrator(server: Postgres, *command: str, typed: str = "") -> str:
    """Without a terminal, so that what is asked for is read from `typed`."""
    known = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "tollkeeper", "PGPASSWORD": server.password}
    environment = dict(os.environ) | known | {"PGDATABASE": "postgres"}
    done = subprocess.run(
        command, env=environment, input=typed, capture_output=True, text=True, check=False, start_new_session=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def migrated(server: Postgres, login: str, password: str, database: str) -> str:
    url = f"postgresql://{login}:{password}@127.0.0.1:{server.port}/{database}"
    # Nobody asks Redis for a schema.
    redis = {"TOLLKEEPER_REDIS_URL": "redis://127.0.0.1:1/0"}
    done = tollkeeper(own_deployment() | redis | {"TOLLKEEPER_DATABASE_URL": url}, "migrate")
    assert done.returncode == 0, done.stderr
    return url


def test_one_login_can_make_the_schema(server: Postgres) -> None:
    [block] = [block for block in OF_THIS_TEST if block.language == "sh"]
    for line in block.text.splitlines():
        # The server's own administrator has the name that the page gives to the login.
        program, *arguments = line.replace("tollkeeper", "keeper").replace("-h db.example", "").split()
        as_administrator(server, binary(program), *arguments, typed="password\npassword\n")
    migrated(server, "keeper", "password", "keeper")


async def test_four_logins_are_kept_apart(server: Postgres) -> None:
    [block] = [block for block in OF_THIS_TEST if block.language == "sql"]
    as_administrator(server, binary("psql"), "--set=ON_ERROR_STOP=1", "--file=-", typed=block.text)
    url = migrated(server, "tk_migrate", "one", "tollkeeper")
    for login, password, own in (
        ("tk_gateway", "two", "tollkeeper_gateway"),
        ("tk_console", "three", "tollkeeper_console"),
        ("tk_worker", "four", "tollkeeper_worker"),
    ):
        connection = await asyncpg.connect(url.replace("tk_migrate:one", f"{login}:{password}"))
        try:
            await connection.execute(f"set role {own}")
            for other in {"tollkeeper_migrations", "tollkeeper_gateway", "tollkeeper_console"} - {own}:
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(f"set role {other}")
        finally:
            await connection.close()
