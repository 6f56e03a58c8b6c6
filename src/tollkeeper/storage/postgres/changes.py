"""The change feed: how each node's snapshots stay fresh, and whose clock they go by.

Rules of this file
1. The feed in PostgreSQL is the truth and is read every half second. Redis only says "look now".
2. Freshness counts from the moment a look was begun, so nothing committed before it can be missing.
3. After a silence longer than the feed is kept, subscribers get FORGET_ALL: they drop everything.
4. Time is the database's: the node's wall clock decides nothing. How far it is off is measured by every look, and told.
5. Nothing is fresh by a schema that is too old for this build.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tollkeeper.core.diagnosis import clock_trouble, is_off
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.steady import RepeatedStep, wait_for_event
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.revision import SchemaWatch
from tollkeeper.storage.postgres.trouble import DATABASE_FAILURES

CHANNEL = "tollkeeper:changes"
LOOK_EVERY_SECONDS = 0.5
FRESH_FOR_SECONDS = 2.0
FORGET_AFTER_SECONDS = 600.0
HEARTBEATS_BACK_SECONDS = 20.0
SENDING_AT_ONCE = 2

log = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True):
    kind: str
    subject: int


FORGET_ALL = Change("all", 0)

LOOK = """
select pg_snapshot_xmin(pg_current_snapshot())::text as horizon, ledger_now() as now,
       (select count(*) from worker
        where serves and ended_at is null and fenced_at is null and heartbeat_at > now() - interval '20 s') as workers,
       (select coalesce(json_agg(json_build_array(id, kind, subject) order by id), '[]')
        from (select * from change where transaction_id >= $1::text::xid8 order by id limit $2) news)::text as changes
"""
# Beyond this many changes at once, subscribers drop everything instead of handling each.
CHANGES_MOST = 10_000
# A first look forgets everything, so it needs no row of the feed: only where the feed stands.
END_OF_TIME = str(2**64 - 1)

decode_changes = msgspec.json.Decoder(list[tuple[int, str, int]]).decode


class Changes:
    """Reads the feed and calls the subscribers with each change; is also the Clock of the process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listeners: list[Callable[[Change], None]] = []
        self._look_now = asyncio.Event()
        self._horizon: int | None = None
        self._seen: set[int] = set()
        self._fresh_until = float("-inf")
        self._epoch: datetime | None = None
        self._unix_epoch = time.time() - time.monotonic()
        # Why the last look failed, in words; empty where it went well, or nothing is known about it.
        self.trouble = ""
        # Why this machine's clock should be set, in words; empty where it is right.
        self.clock_trouble = ""
        # How far it was ahead when that was logged.
        self._logged_ahead_seconds = 0.0
        self.schema = SchemaWatch(database)
        # Processes that serve calls from this database, the one that asks included.
        self.live_workers = 1
        self._counts_from = float("-inf")

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        self._listeners.append(listener)

    def nudge(self) -> None:
        self._look_now.set()

    @property
    def fresh(self) -> bool:
        """Whether every change committed more than two seconds ago is known here."""
        return time.monotonic() < self._fresh_until

    @property
    def knows_time(self) -> bool:
        return self._epoch is not None

    def now(self) -> datetime:
        if self._epoch is None:
            raise StoreUnavailable
        return self._epoch + timedelta(seconds=time.monotonic())

    def unix_milliseconds(self) -> int:
        return int((self._unix_epoch + time.monotonic()) * 1_000)

    async def follow(self) -> None:
        """Look again and again, until cancelled."""
        looking = RepeatedStep("change feed")
        while True:
            self._look_now.clear()
            await looking.run(self._look)
            await wait_for_event(self._look_now, LOOK_EVERY_SECONDS)

    async def _look(self) -> None:
        try:
            await self.look()
        except DATABASE_FAILURES as problem:
            found = self._database.trouble(problem)
            if found is None:
                self.trouble = ""
                raise
            if found.told != self.trouble:
                log.warning("this process is not ready: %s", found.told)
            self.trouble = found.told
            return
        if self.trouble:
            log.info("the database can be used again")
        self.trouble = ""

    async def look(self) -> None:
        newer = self.schema.newer
        await self.schema.check()
        if self.schema.newer not in {"", newer}:
            log.warning("%s", self.schema.newer)
        begun = time.monotonic()
        since = self._horizon if begun - self._fresh_until < FORGET_AFTER_SECONDS else None
        found = await self._database.row(LOOK, END_OF_TIME if since is None else str(since), CHANGES_MOST + 1)
        rows = decode_changes(found["changes"])
        horizon = int(found["horizon"])
        # A horizon that went back is another server: after a failover that lost transactions, nothing is certain.
        if since is None or horizon < since or len(rows) > CHANGES_MOST or self._slept(begun, found["now"]):
            self._announce(FORGET_ALL)
        else:
            for change_id, kind, subject in rows:
                if change_id not in self._seen:
                    self._announce(Change(kind, subject))
        self._horizon = horizon
        self._seen = {change_id for change_id, _, _ in rows}
        # The answer's time lies between asking and now; the middle is the best guess.
        middle = (begun + time.monotonic()) / 2
        self._epoch = found["now"].astimezone(UTC) - timedelta(seconds=middle)
        self._unix_epoch = self._epoch.timestamp()
        self._judge_clock(time.monotonic() - begun)
        self._count_workers(begun, found["workers"])
        self._fresh_until = begun + FRESH_FOR_SECONDS

    def _judge_clock(self, round_trip_seconds: float) -> None:
        ahead_seconds, uncertain_seconds = time.time() - time.monotonic() - self._unix_epoch, round_trip_seconds / 2
        told = clock_trouble(ahead_seconds, uncertain_seconds=uncertain_seconds)
        has_jumped = is_off(ahead_seconds - self._logged_ahead_seconds, uncertain_seconds=uncertain_seconds)
        if bool(told) != bool(self.clock_trouble) or (told and has_jumped):
            log.warning("%s", told or "this machine's clock is right again")
            self._logged_ahead_seconds = ahead_seconds if told else 0.0
        self.clock_trouble = told

    def _count_workers(self, begun: float, workers: int) -> None:
        """After an outage of the database no heartbeat is fresh: for a while fewer workers seem alive than are."""
        if begun - self._fresh_until > 0:
            self._counts_from = begun + HEARTBEATS_BACK_SECONDS
        self.live_workers = max(1, workers, self.live_workers if begun < self._counts_from else 0)

    def _slept(self, begun: float, database_now: datetime) -> bool:
        """Whether more time went by than our own clock says: it stands still while a machine is suspended."""
        if self._epoch is None:
            return False
        expected = self._epoch + timedelta(seconds=begun)
        return database_now - expected > timedelta(seconds=FORGET_AFTER_SECONDS)

    def _announce(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)


class ChangeNotifier:
    """Redis pub/sub beside the feed: an empty message says "read the feed now", within milliseconds. One with a text is
    news of its own: the pool's, of provider accounts that went out or came back."""

    def __init__(self, clients: Callable[[], Redis]) -> None:
        """`clients` makes a client; another one after each failure, for another server may answer."""
        self._clients = clients
        self._redis = clients()
        # Each that sends at the same time takes a connection of its own, and keeps it.
        self._sending = asyncio.Semaphore(SENDING_AT_ONCE)
        self.connected = False

    async def close(self) -> None:
        await self._redis.aclose()

    async def milliseconds(self) -> float | None:
        """How long Redis takes to answer; None where it does not."""
        redis, begun = self._redis, time.perf_counter()
        try:
            await redis.ping()
        except (RedisError, OSError, TimeoutError):
            await self._try_another_than(redis)
            return None
        return 1_000 * (time.perf_counter() - begun)

    async def send(self, text: bytes = b"") -> None:
        """Best effort: nodes see a change on their next look anyway, and learn news by themselves."""
        async with self._sending:
            redis = self._redis
            try:
                await redis.publish(CHANNEL, text)
            except (RedisError, OSError, TimeoutError) as problem:
                log.warning("redis out of reach, nodes learn without it, and later: %s", problem)
                await self._try_another_than(redis)

    async def follow(self, on_message: Callable[[bytes], None]) -> None:
        """Pass nudges on until cancelled, reconnecting for ever."""
        while True:
            redis = self._redis
            try:
                await self._listen(redis, on_message)
            except (RedisError, OSError, TimeoutError) as problem:
                if self.connected:
                    log.warning("redis out of reach, polling alone keeps snapshots fresh: %s", problem)
                self.connected = False
                await self._try_another_than(redis)
                await asyncio.sleep(1)

    async def _try_another_than(self, failed: Redis) -> None:
        if failed is self._redis:
            self._redis = self._clients()
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                await failed.aclose()

    async def _listen(self, redis: Redis, on_message: Callable[[bytes], None]) -> None:
        async with redis.pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(CHANNEL)
            self.connected = True
            on_message(b"")
            while True:
                # With a bounded wait, a connection that died silently is noticed by its health check.
                message = await channel.get_message(timeout=5)
                if message is not None:
                    on_message(message["data"])
