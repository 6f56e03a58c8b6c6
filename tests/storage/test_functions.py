"""Stored functions: their one source is `storage/functions`, and what a database has is what stands there."""

import asyncio
import hashlib
import json
from pathlib import Path
from uuid import uuid4

import asyncpg

from tests.conftest import Stores
from tollkeeper.storage import schema
from tools.migration import FUNCTIONS, VERSIONS, begin

FILES = sorted(FUNCTIONS.glob("*.sql"))
# What deployments had whose functions were made by another text of migration 0014: the same.
AT_0014 = Path(__file__).parent / "functions_at_0014.json"
# `source` is what any version of the server tells alike; it is empty where a function is kept as a tree.
DEFINITIONS = """
select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' as signature,
       pg_get_functiondef(p.oid) as definition, coalesce(p.proacl::text, '') as rights,
       concat_ws(E'\\n', p.prosrc, p.proconfig, p.prosecdef, p.provolatile, pg_get_function_result(p.oid)) as source
from pg_proc p where p.pronamespace = 'tollkeeper'::regnamespace
"""


async def definitions(connection: asyncpg.Connection) -> dict[str, asyncpg.Record]:
    """The text and the rights of every function, by its signature."""
    return {row["signature"]: row for row in await connection.fetch(DEFINITIONS)}


def digest(definition: asyncpg.Record) -> str:
    return hashlib.sha256("\n".join((definition["source"], definition["rights"])).encode()).hexdigest()[:16]


async def test_every_function_has_a_file_that_says_what_the_database_has(owner: asyncpg.Connection) -> None:
    installed = await definitions(owner)
    assert sorted(signature.partition("(")[0] for signature in installed) == [file.stem for file in FILES]
    await owner.execute("set role tollkeeper_migrations")
    for file in FILES:
        await owner.execute(file.read_text())
        assert await definitions(owner) == installed, file.stem


async def test_the_functions_of_0014_are_those_that_deployments_have(stores: Stores) -> None:
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
