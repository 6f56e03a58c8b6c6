"""A version after this one, as far as the database notices: migrations that a release could bring.

Each adds columns to tables that calls write to, installs the functions of holds and settlements anew, and has an index
over the ledger built aside. Code of the present version serves before, while and after it is applied.
"""

import time
from pathlib import Path

import asyncpg

from proofs.rig.proof import say
from tollkeeper.storage.postgres.schema import FUNCTIONS, Migrated, migrate

# A migration gives up a lock that it does not get in five seconds, and is repeated by whoever began it.
ATTEMPTS = 5
MIGRATION = '''"""The next version, part {number}."""

from tollkeeper.storage.postgres.indexes import IndexAside
from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "{revision}"
down_revision = "{before}"
INDEXES_ASIDE = (
    IndexAside("entry", "entry_next_{number}", "(kind, at)"),
    IndexAside("usage", "usage_next_{number}", "(key_id, ending)"),
)


def upgrade() -> None:
    run_sql_beside(__file__)
'''
COLUMNS = """
alter table api_key add column next_{number} text;
alter table usage add column next_{number} integer not null default 0;
"""
# What every call passes.
REPLACED = ("hold_batch", "settle_batch", "checkpoint_batch")
REVISION = "select version_num from tollkeeper.alembic_version"
# Of the index over the ledger, whether it and those of all partitions can be used.
USABLE = """
select bool_and(i.indisvalid) from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname like $1
"""


class NextVersion:
    """Its migrations are in a folder of their own, beside those that are shipped."""

    def __init__(self, folder: Path, revision: str) -> None:
        self.revision = revision
        self._folder = folder
        self._parts = 0

    def apply(self, database_url: str) -> Migrated:
        """Write one more migration and apply it, as `tollkeeper migrate` of that version would."""
        self._parts += 1
        revision = f"next{self._parts}"
        text = MIGRATION.format(number=self._parts, revision=revision, before=self.revision)
        (self._folder / f"{revision}.py").write_text(text)
        functions = [(FUNCTIONS / f"{name}.sql").read_text() for name in REPLACED]
        (self._folder / f"{revision}.sql").write_text("\n".join([COLUMNS.format(number=self._parts), *functions]))
        self.revision = revision
        return self._tried(database_url)

    def _tried(self, database_url: str) -> Migrated:
        begun = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                migrated = migrate(database_url, more=self._folder)
            except asyncpg.LockNotAvailableError:
                say(f"migration {self.revision}: a lock was not to be had, attempt {attempt}")
            else:
                say(f"migration {self.revision}: applied in {time.monotonic() - begun:.1f} s, calls going on")
                return migrated
        raise TimeoutError(f"migration {self.revision} got no lock in {ATTEMPTS} attempts")

    async def is_in_force(self, database_url: str) -> bool:
        """The database is at it, and its index over the ledger is used."""
        connection = await asyncpg.connect(database_url, server_settings={"search_path": "tollkeeper"})
        try:
            usable = await connection.fetchval(USABLE, f"%entry_next_{self._parts}")
            return bool(usable) and await connection.fetchval(REVISION) == self.revision
        finally:
            await connection.close()
