"""Accounts for many calls: provider accounts where calls fail on purpose, and customers' accounts without limits."""

import asyncpg

from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load


async def add_accounts(settings: dict[str, str], base_url: str, secret: str, count: int) -> None:
    """So many at one provider that no single one is taken out for its failures."""
    async with office(load(settings)) as desk:
        for number in range(count):
            account = NewProviderAccount(name=f"simulator-{number}", vendor="openai", base_url=base_url, secret=secret)
            await desk.providers.add(account, actor="tools")


async def without_limits(database_url: str) -> None:
    """Let the accounts of every group that is there call as often as they like."""
    await with_limits(database_url, None)


async def with_limits(database_url: str, calls_a_minute: int | None) -> None:
    """Let every key and every account of the groups that are there make so many calls."""
    connection = await asyncpg.connect(database_url, server_settings={"search_path": "tollkeeper"})
    try:
        await connection.execute("update account_group set key_rate = $1, standard_rate = $1", calls_a_minute)
    finally:
        await connection.close()
