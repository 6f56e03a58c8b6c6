"""Announcements in PostgreSQL."""

from collections.abc import Sequence

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.announcements import AnnouncementRecord, NewAnnouncement
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

SHOWN_MOST = 3
NOT_OVER = """
select id, english, chinese, starts_at, ends_at from announcement where removed_at is null and ends_at > ledger_now()
"""
CURRENT = NOT_OVER + "and starts_at <= ledger_now() order by starts_at desc, id desc limit $1"
LISTED = NOT_OVER + "order by starts_at, id"
OVER = """
select id, english, chinese, starts_at, ends_at, removed_at as ended_at from announcement
where (removed_at is not null or ends_at <= ledger_now()) and id < coalesce($1, 9223372036854775807)
order by id desc limit $2
"""
ADD = """
insert into announcement (english, chinese, starts_at, ends_at)
select $1, $2, coalesce($3, ledger_now()), $4
where $4 > greatest(coalesce($3, ledger_now()), ledger_now())
returning id, english, chinese, starts_at, ends_at
"""
REMOVE = "update announcement set removed_at = ledger_now() where id = $1 and removed_at is null returning id"


class SqlAnnouncementDesk:
    """The `AnnouncementDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self) -> Sequence[AnnouncementRecord]:
        return [AnnouncementRecord(**dict(row)) for row in await self._database.rows(CURRENT, SHOWN_MOST)]

    async def listed(self) -> Sequence[AnnouncementRecord]:
        return [AnnouncementRecord(**dict(row)) for row in await self._database.rows(LISTED)]

    async def over(self, *, before_id: int | None, limit: int) -> Sequence[AnnouncementRecord]:
        return [AnnouncementRecord(**dict(row)) for row in await self._database.rows(OVER, before_id, limit)]

    async def add(self, wanted: NewAnnouncement, *, actor: str) -> AnnouncementRecord | None:
        async with self._database.transaction() as connection:
            values = (wanted.english, wanted.chinese, wanted.starts_at, wanted.ends_at)
            row = await connection.fetchrow(ADD, *values)
            if row is None:
                return None
            made = AnnouncementRecord(**dict(row))
            detail = {"english": made.english, "from": made.starts_at.isoformat(), "until": made.ends_at.isoformat()}
            await audit(connection, actor, "announcement.add", f"announcement:{made.id}", detail)
        return made

    async def remove(self, announcement_id: int, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            if await connection.fetchval("select id from announcement where id = $1", announcement_id) is None:
                raise NotOnFile(f"There is no announcement {announcement_id}.")
            removed = await connection.fetchval(REMOVE, announcement_id) is not None
            if removed:
                await audit(connection, actor, "announcement.remove", f"announcement:{announcement_id}", {})
        return removed
