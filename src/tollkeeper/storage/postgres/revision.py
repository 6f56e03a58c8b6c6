"""Which revision the schema is at, and whether this build can work with it.

Rules of this file
1. A schema that is older than this build needs is waited for: nothing is asked of it, and no money moves by it.
2. A newer one is good: migrations only add what older builds do not know of (docs/guides/upgrade.md). It is told.
3. Alembic is not loaded here: it takes 0.4 s and 30 MB, and a revision is the beginning of its file's name.
"""

import time
from pathlib import Path

import asyncpg

from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.trouble import SchemaUnfit

VERSIONS = Path(__file__).parent / "migrations" / "versions"
DIGITS = 4
LOOK_EVERY_SECONDS = 10.0
REVISION = "select version_num from alembic_version"
# Since this one every part may read the revision.
TOLD_SINCE = "0047"

OLDER = "The schema is {at}, and this build needs {newest}. Run 'tollkeeper migrate' with this build."
NEWER = (
    "The schema is at revision {at}, newer than this build knows ({newest}). Calls go on. Upgrade this node before the "
    "release after that one is migrated."
)


def newest_known() -> str:
    return max(path.name[:DIGITS] for path in VERSIONS.glob("[0-9]*_*.py"))


class SchemaWatch:
    """Looks at the revision again and again, beside what else is asked of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest = newest_known()
        self._good_until = float("-inf")
        # Where the schema is newer than this build knows: a sentence about it.
        self.newer = ""

    async def check(self) -> None:
        """Raise SchemaUnfit where the schema is too old. One that was good is looked at again after ten seconds."""
        if time.monotonic() < self._good_until:
            return
        at = await self._revision()
        if at is None or at < self._newest:
            self._good_until = float("-inf")
            found = f"older than revision {TOLD_SINCE}" if at is None else f"at revision {at}"
            raise SchemaUnfit(OLDER.format(at=found, newest=self._newest))
        self.newer = NEWER.format(at=at, newest=self._newest) if at > self._newest else ""
        self._good_until = time.monotonic() + LOOK_EVERY_SECONDS

    async def _revision(self) -> str | None:
        """None where it is so old that this part may not read it."""
        try:
            row = await self._database.row(REVISION)
        except asyncpg.InsufficientPrivilegeError:
            return None
        return None if row is None else str(row["version_num"])
