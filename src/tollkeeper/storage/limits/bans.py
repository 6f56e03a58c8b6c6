"""Bans in PostgreSQL, and the copy of them that every process keeps in memory.

Rules of this file
1. Whether an IP is banned is answered from memory alone. While the database is away, the copy goes on counting.
2. The change feed says which bans began or were lifted, and only those are read: there may be very many.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping
from datetime import datetime

import asyncpg
import msgspec

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.limits.abuse import Policy, ban_seconds
from tollkeeper.ports import Ban
from tollkeeper.steady import RepeatedStep, wait_for_event
from tollkeeper.storage.postgres.changes import FORGET_ALL, Change, Changes
from tollkeeper.storage.postgres.database import Database

INVALID_CALLS = "invalid_calls"
PEAK = "peak"

READ_AT_MOST_EVERY_SECONDS = 0.5
DROP_EXPIRED_EVERY_SECONDS = 60.0
# So many at once that calls need not wait for their reading.
PAGE = 2_000

IN_FORCE = """
select id, ip, until, why from ban
where id > $1 and until > ledger_now() and lifted_at is null order by id limit $2
"""
CHANGED = """
select id, ip, until, why, until > ledger_now() and lifted_at is null as in_force from ban
where id = any($1::bigint[]) order by id
"""
EARLIER = """
select count(*) from ban
where ip = $1 and why = 'invalid_calls' and lifted_at is null and began_at > ledger_now() - make_interval(secs => $2)
"""
OF_IP = "select ip, until, why from ban where ip = $1 and until > ledger_now() and lifted_at is null"
BAN = "select ban_ip($1, $2, $3, $4::text::jsonb, $5, null)"


class SqlBans:
    """The `Bans` port."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes
        self._bans: dict[str, Ban] = {}
        self._news = asyncio.Event()
        self._changed: set[int] = set()
        # How often everything had to be read afresh, and how often it was.
        self._forgotten = 1
        self._loaded = 0
        self._drop_at = 0.0
        changes.subscribe(self._on_change)

    def find(self, ip: str) -> Ban | None:
        ban = self._bans.get(ip)
        if ban is None:
            return None
        try:
            return ban if ban.until > self._changes.now() else None
        except StoreUnavailable:
            return ban

    def put(self, ban: Ban) -> None:
        """Keep a ban that was made a moment ago, before the feed tells of it."""
        self._bans[ban.ip] = ban

    async def follow(self) -> None:
        """Read what changes, until cancelled."""
        reading = RepeatedStep("reading of bans")
        while True:
            self._news.clear()
            if not await reading.run(self.read):
                self._news.set()
            self._drop_expired()
            await asyncio.sleep(READ_AT_MOST_EVERY_SECONDS)
            await wait_for_event(self._news, DROP_EXPIRED_EVERY_SECONDS)

    async def read(self) -> None:
        """Read what was heard of since the last time."""
        if self._loaded != self._forgotten:
            await self._load()
        if self._changed:
            await self._read_changed()

    async def _load(self) -> None:
        forgotten, after = self._forgotten, 0
        found: dict[str, Ban] = {}
        while rows := await self._database.rows(IN_FORCE, after, PAGE):
            found.update((row["ip"], _ban(row)) for row in rows)
            after = rows[-1]["id"]
        self._bans = found
        self._loaded = forgotten

    async def _read_changed(self) -> None:
        changed, self._changed = self._changed, set()
        with contextlib.ExitStack() as undo:
            undo.callback(self._changed.update, changed)
            rows = await self._database.rows(CHANGED, sorted(changed))
            undo.pop_all()
        for row in rows:
            if row["in_force"]:
                self._bans[row["ip"]] = _ban(row)
            else:
                self._bans.pop(row["ip"], None)
        if len(rows) < len(changed):
            # Somebody deleted bans, and whose they were is not known any more.
            self._on_change(FORGET_ALL)

    def _on_change(self, change: Change) -> None:
        if change is FORGET_ALL:
            self._forgotten += 1
        elif change.kind == "ban":
            self._changed.add(change.subject)
        else:
            return
        self._news.set()

    def _drop_expired(self) -> None:
        if time.monotonic() < self._drop_at:
            return
        self._drop_at = time.monotonic() + DROP_EXPIRED_EVERY_SECONDS
        with contextlib.suppress(StoreUnavailable):
            self._bans = dict(_still_in_force(self._bans, self._changes.now()))


async def ban(
    database: Database,
    policy: Policy,
    ip: str,
    why: str,
    counted: Mapping[str, object],
    account_id: int | None = None,
) -> Ban | None:
    """Ban an IP, for longer the more often it was banned for invalid calls. The ban in force, also where somebody else
    was first; None where that was lifted just now."""
    as_json = msgspec.json.encode(counted).decode()
    async with database.session() as connection:
        earlier = 0
        if why == INVALID_CALLS:
            earlier = await connection.fetchval(EARLIER, ip, float(policy.ban_memory_seconds))
        await connection.execute(BAN, ip, ban_seconds(policy, earlier), why, as_json, account_id)
        row = await connection.fetchrow(OF_IP, ip)
    return None if row is None else _ban(row)


def _ban(row: asyncpg.Record) -> Ban:
    return Ban(ip=row["ip"], until=row["until"], why=row["why"])


def _still_in_force(bans: Mapping[str, Ban], now: datetime) -> Iterable[tuple[str, Ban]]:
    return ((ip, ban) for ip, ban in bans.items() if ban.until > now)
