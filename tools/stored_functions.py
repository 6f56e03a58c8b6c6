"""Stored functions as a database has them, and whether each is what its file says."""

from collections import Counter

import asyncpg

from tools.migration import FUNCTIONS

FILES = sorted(FUNCTIONS.glob("*.sql"))
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


async def mismatched(connection: asyncpg.Connection) -> list[str]:
    """Functions that are there twice, without a file, or other than it says, and files without one. Changes nothing."""
    installed = await definitions(connection)
    named = Counter(signature.partition("(")[0] for signature in installed)
    wrong = named.keys() ^ {file.stem for file in FILES} | {name for name, count in named.items() if count > 1}
    for file in FILES:
        installing = connection.transaction()
        await installing.start()
        try:
            await connection.execute("set local role tollkeeper_migrations")
            await connection.execute(file.read_text())
            if await definitions(connection) != installed:
                wrong.add(file.stem)
        finally:
            await installing.rollback()
    return sorted(wrong)
