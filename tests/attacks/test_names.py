"""A name with an escape sequence or a line break makes an operator's terminal show what is not so."""

import asyncpg
import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables
from tollkeeper.app.office import office
from tollkeeper.core.one_line import NotOneLine
from tollkeeper.settings import load

ESCAPE = "fine\x1b[2J\x1b[31mgone"
BIDI = "fine\u202eenif"


@pytest.fixture
async def own_variables(stores: Stores) -> dict[str, str]:
    return await variables(stores)


@pytest.mark.parametrize(
    "command",
    [
        ["account", "create", ESCAPE],
        ["account", "create", "two\nlines"],
        ["account", "create", BIDI],
        ["key", "create", "1", ESCAPE],
        ["group", "add", ESCAPE],
        ["model", "add", ESCAPE, "--multiplier", "1"],
        ["provider", "add", ESCAPE, "https://api.example/v1"],
        ["provider", "add", "p", "https://api.example/v1", "--model", f"a={ESCAPE}"],
        ["credit", "1", "5", "--source-id", ESCAPE],
    ],
    ids=lambda command: "_".join(command[:2]),
)
def test_such_a_name_is_refused_and_not_repeated(own_variables: dict[str, str], command: list[str]) -> None:
    done = tollkeeper(own_variables, *command, stdin="sk-x\n")
    assert done.returncode == 1, done.stdout
    assert "one line of printable characters" in done.stderr
    assert "Traceback" not in done.stderr
    assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)


async def test_such_a_name_is_refused_whoever_asks(own_variables: dict[str, str]) -> None:
    async with office(load(own_variables)) as desk:
        with pytest.raises(NotOneLine):
            await desk.accounts.create(ESCAPE, "standard", actor="test")


async def test_names_from_before_are_shown_without_what_acts(own_variables: dict[str, str]) -> None:
    url = load(own_variables).database_url
    connection = await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})
    try:
        account = await connection.fetchval("insert into account (name) values ('a') returning id")
        await connection.executemany(
            "insert into api_key (account_id, name, pepper_version, digest, hint)"
            " values ($1, $2, 1, sha256(random()::text::bytea), 'h')",
            [(account, ESCAPE), (account, BIDI)],
        )
    finally:
        await connection.close()
    told = tollkeeper(own_variables, "key", "list", str(account)).stdout
    assert "fine\ufffd[2J\ufffd[31mgone" in told
    assert "fine\ufffdenif" in told
    assert not {"\x1b", "\u202e"} & set(told)
