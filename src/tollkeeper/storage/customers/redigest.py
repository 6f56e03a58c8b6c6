"""Keys digested anew, under the pepper in use: what is found under an older one is filed under it, beside the calls.

Rules of this file
1. Nothing waits for it. What is not written is noted again when the key is next looked up.
2. Few at a time: every key that is filed anew is news to all nodes, and looked up again.
3. No text of a key is kept here, only its digests.
"""

import asyncio

import msgspec

from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.postgres.database import Database

EVERY_SECONDS = 1.0
AT_ONCE = 200
WAITING_MOST = 10_000

REDIGEST = "select redigest_keys($1, $2, $3, $4)"


class OldDigest(msgspec.Struct, frozen=True):
    """A key under the digest that it has, and the one that it should have."""

    key_id: int
    old: bytes
    new: bytes


class SqlRedigests:
    """Collects what is to be filed anew, and files it in batches."""

    def __init__(self, database: Database, version: int) -> None:
        self._database = database
        self._version = version
        self._waiting: dict[bytes, OldDigest] = {}

    def note(self, found: OldDigest) -> None:
        if len(self._waiting) < WAITING_MOST:
            self._waiting[found.old] = found

    async def follow(self) -> None:
        """Until cancelled."""
        step = RepeatedStep("digesting keys anew")
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            if self._waiting:
                await step.run(self.flush)

    async def flush(self) -> int:
        """How many keys were filed anew. Those of a failed batch come again by their next use."""
        batch = [self._waiting.pop(old) for old in list(self._waiting)[:AT_ONCE]]
        columns = [each.key_id for each in batch], [each.old for each in batch], [each.new for each in batch]
        row = await self._database.row(REDIGEST, self._version, *columns)
        filed: int = row[0]
        return filed
