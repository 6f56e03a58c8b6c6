"""Keys among a million accounts: entered, listed by, looked up cold, and revoked."""

import asyncio
import os
import time
from collections.abc import Mapping

from openai import OpenAI

from proofs.rig.database import connect
from proofs.rig.patience import patience
from tollkeeper.app.office import office
from tollkeeper.core.keys import Peppers, hint, mint
from tollkeeper.settings import keys_by_version, load
from tools.node import Node

LOOKUPS_AT_ONCE = 2
FILLED_WITHIN_SECONDS = 600
REFUSED_WITHIN_SECONDS = 20.0

LOAD = """
insert into account (name) select 'account ' || n from generate_series(1, $1::int) n;
insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
    select n, 500000000000, 500000000000, 'operator', n::text, interval '9 months', now() + interval '9 months'
    from generate_series(1, $1::int) n;
insert into api_key (account_id, name, pepper_version, digest, hint)
    select n, 'key', 1, sha256(n::text::bytea), 'sk-a…' from generate_series(1, $1::int) n;
"""


async def fill(settings: Mapping[str, str], accounts: int, lookups: int) -> list[str]:
    """Fill the database; return keys that are really in it, spread over all accounts. The last is for revoking."""
    peppers = Peppers(keys_by_version(settings["TOLLKEEPER_PEPPERS"], least_bytes=32))
    keys = [mint("a", choose) for _ in range(lookups + 1)]
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        for statement in LOAD.split(";"):
            if statement.strip():
                await connection.execute(statement, accounts, timeout=patience(FILLED_WITHIN_SECONDS))
        step = accounts // (lookups + 1)
        records = [(1 + n * step, "key", 1, peppers.digest(key, 1), hint(key)) for n, key in enumerate(keys)]
        columns = ["account_id", "name", "pepper_version", "digest", "hint"]
        await connection.copy_records_to_table("api_key", records=records, columns=columns)
        await connection.execute("vacuum analyze", timeout=patience(FILLED_WITHIN_SECONDS))
        await connection.execute("checkpoint", timeout=patience(FILLED_WITHIN_SECONDS))
    finally:
        await connection.close()
    return keys


def choose(characters: str) -> str:
    return characters[int.from_bytes(os.urandom(2)) % len(characters)]


def lists_models(node: Node, key: str) -> bool:
    with OpenAI(base_url=f"{node.base}/v1", api_key=key) as client:
        return [model.id for model in client.models.list()] == ["gpt-4o"]


async def look_up_cold(node: Node, keys: list[str]) -> list[float]:
    """Ask for the models once with each key, a few at a time; return how long each answer took."""
    waiting, waits_ms = iter(keys), []

    async def caller() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
        for key in waiting:
            begun = time.perf_counter()
            writer.write(f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            waits_ms.append((time.perf_counter() - begun) * 1_000)
            assert head.startswith(b"HTTP/1.1 200 "), head
        writer.close()

    await asyncio.gather(*(caller() for _ in range(LOOKUPS_AT_ONCE)))
    return waits_ms


def seconds_until_refused(settings: Mapping[str, str], nodes: list[Node], key: str) -> float:
    """Revoke a key that both nodes have in memory; how long until both refuse it."""
    assert [ask(node, key) for node in nodes] == [200, 200]
    begun = asyncio.run(revoke(settings, key))
    while [ask(node, key) for node in nodes] != [401, 401]:
        assert time.perf_counter() - begun < patience(REFUSED_WITHIN_SECONDS), "never refused"
    return time.perf_counter() - begun


def ask(node: Node, key: str) -> int:
    return node.status("/v1/models", {"Authorization": f"Bearer {key}"})


async def revoke(settings: Mapping[str, str], key: str) -> float:
    """Revoke as an operator would; return when that was begun."""
    peppers = Peppers(keys_by_version(settings["TOLLKEEPER_PEPPERS"], least_bytes=32))
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    key_id: int = await connection.fetchval("select id from api_key where digest = $1", peppers.digest(key, 1))
    await connection.close()
    async with office(load(dict(settings))) as desk:
        account_id = await desk.keys.owner_of(key_id)
        begun = time.perf_counter()
        await desk.keys.revoke(key_id, account_id=account_id, actor=desk.actor)
    return begun
