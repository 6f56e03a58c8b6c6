"""Which revision the schema is at, and what a process makes of it."""

import asyncpg
import pytest

from tollkeeper.storage.postgres import revision
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.revision import SchemaWatch, newest_known
from tollkeeper.storage.postgres.schema import newest_revision
from tollkeeper.storage.postgres.trouble import SchemaUnfit


def test_the_newest_revision_is_known_without_alembic() -> None:
    assert newest_known() == newest_revision()


async def test_a_schema_is_judged_by_its_revision(database: Database, owner: asyncpg.Connection) -> None:
    await SchemaWatch(database).check()
    await owner.execute("update alembic_version set version_num = '0001'")
    with pytest.raises(SchemaUnfit, match="at revision 0001, and this build needs"):
        await SchemaWatch(database).check()
    await owner.execute("update alembic_version set version_num = '9000'")
    watch = SchemaWatch(database)
    await watch.check()
    assert "at revision 9000, newer than this build knows" in watch.newer


async def test_a_schema_that_this_part_may_not_ask_is_an_old_one(database: Database, owner: asyncpg.Connection) -> None:
    await owner.execute("revoke select on alembic_version from tollkeeper_gateway")
    with pytest.raises(SchemaUnfit, match=f"older than revision {revision.TOLD_SINCE}, and this build needs"):
        await SchemaWatch(database).check()


async def test_a_schema_that_was_good_is_looked_at_again_after_a_while(
    database: Database, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = SchemaWatch(database)
    await watch.check()
    await owner.execute("update alembic_version set version_num = '0001'")
    await watch.check()
    monkeypatch.setattr(watch, "_good_until", 0.0)
    with pytest.raises(SchemaUnfit):
        await watch.check()
