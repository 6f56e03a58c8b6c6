"""Stored functions: their one source is `storage/postgres/functions`, and what a database has is what stands there."""

import asyncio
import hashlib
import json
from pathlib import Path
from uuid import uuid4

import asyncpg

from tests.conftest import Stores
from tollkeeper.storage.postgres import schema
from tools.migration import FUNCTIONS, VERSIONS, begin
from tools.stored_functions import definitions, mismatched

# What deployments had whose functions were made by another text of migration 0014: the same.
AT_0014 = Path(__file__).parent / "functions_at_0014.json"


def digest(definition: asyncpg.Record) -> str:
    return hashlib.sha256("\n".join((definition["source"], definition["rights"])).encode()).hexdigest()[:16]


async def test_every_function_has_a_file_that_says_what_the_database_has(owner: asyncpg.Connection) -> None:
    assert await mismatched(owner) == []


async def test_a_function_that_is_not_what_its_file_says_is_found(owner: asyncpg.Connection) -> None:
    await owner.execute(
        "create or replace function left_by_cap(p_account bigint, p_kinds text[], p_full bigint, p_cap bigint)"
        " returns bigint language sql stable as 'select p_full'"
    )
    await owner.execute("create function of_no_file() returns int language sql return 1")
    assert await mismatched(owner) == ["left_by_cap", "of_no_file"]


async def test_the_functions_of_0014_are_those_that_deployments_have(stores: Stores) -> None:
    """So migrating from nothing and from 0014 gives equal schemas: 0014 is the one migration whose text was another
    when deployments ran it, and it changes functions alone. Whatever comes after it is the same text for both, and
    replaces whole functions."""
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    await asyncio.to_thread(schema.migrate, url, "0014")
    connection = await asyncpg.connect(url)
    try:
        found = {signature: digest(definition) for signature, definition in (await definitions(connection)).items()}
    finally:
        await connection.close()
    assert found == json.loads(AT_0014.read_text())


def test_a_migration_begins_with_the_whole_text_of_the_functions_that_it_changes(tmp_path: Path) -> None:
    (tmp_path / "0041_before.sql").write_text("")
    sql = begin("debts", "Debts are paid twice as fast.", ["pay_debt", "credit"], tmp_path)
    assert sql == tmp_path / "0042_debts.sql"
    assert sql.read_text() == "\n".join((FUNCTIONS / f"{name}.sql").read_text() for name in ("pay_debt", "credit"))
    python = sql.with_suffix(".py").read_text()
    assert python.startswith('"""Debts are paid twice as fast."""\n')
    assert 'revision = "0042"\ndown_revision = "0041"\n' in python
    newest = max(VERSIONS.glob("[0-9]*.py"))
    assert python.partition('"""\n')[2].partition("revision")[0] in newest.read_text()
