"""Make the ledger's partitions for the days ahead, and drop those of holds that were closed long ago."""

from datetime import timedelta

from tollkeeper.ports import Treasury

KEEP_HOLDS = timedelta(days=30)


async def turn_partitions(treasury: Treasury) -> None:
    await treasury.turn_partitions(KEEP_HOLDS)
