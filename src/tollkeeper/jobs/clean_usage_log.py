"""Clean the usage log: copy its old days to the log site, then drop them.

Rules of this file
1. Nothing is dropped before the log site has a whole copy of everything that is to be dropped.
2. The copy of the cleanup before stays until the new one counts, and is removed last.
3. A cleanup that was cut short is finished, from the copy that it made, before another begins.
4. Days are dropped oldest first. What cannot be dropped now, because somebody reads the log, is left for the next run
   with everything after it: the log has no holes.
5. Days without a call leave the last copy as it is.
6. Copying is most of the work, so the next copy is prepared beforehand, a few days at a time.
7. A day that was copied and has other rows now, because a call of it came late, is copied anew before it is dropped.
"""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import msgspec

from tollkeeper.core.usage.log_copy import (
    CopiedDay,
    Manifest,
    clean_before,
    copy_name,
    file_name,
    left_over,
    to_prepare,
)
from tollkeeper.ports.usage import Cleaned, CleanUsage, DayChanged, LogCleaner, LogInUse, LogSite

PREPARED_AT_ONCE = 3
DROP_TRIES = 5
SECONDS_BETWEEN_TRIES = 1.0

log = logging.getLogger(__name__)


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the log is kept, and about how often it is cleaned."""

    keep_days: int
    every_days: int


async def clean_usage_log_in_turn(usage: CleanUsage, site: LogSite | None, turn: Turn) -> Cleaned:
    """Clean what is older than is kept, if it is time for it."""
    today = (await usage.now()).date()
    async with usage.alone() as cleaner:
        if cleaner is None:
            return Cleaned(())
        days = await _days_in_turn(cleaner)
    before = clean_before(days, today, keep_days=turn.keep_days, every_days=turn.every_days)
    if site is None:
        if before is not None:
            log.warning("the usage log is not cleaned: TOLLKEEPER_LOG_SITE does not say where its copy goes")
        return Cleaned(())
    # Also where it is not time: what an earlier run left is finished.
    return await clean_usage_log(usage, site, before or date.min)


async def prepare_copy(usage: CleanUsage, site: LogSite | None, turn: Turn) -> int:
    """Copy a few of the days that the next cleanup will take. How many."""
    if site is None:
        return 0
    made_at = await usage.now()
    async with usage.alone() as cleaner:
        if cleaner is None:
            return 0
        days, last = await _days_in_turn(cleaner), await site.prepared()
        if not days:
            return 0
        if last is not None and not {each.day for each in last.days} <= set(days):
            # What was prepared was cleaned otherwise.
            last = None
        next_copy = last or Manifest(copy=copy_name(made_at), made_at=made_at, days=[])
        wanted = to_prepare(days, next_copy, every_days=turn.every_days)[:PREPARED_AT_ONCE]
        for day in wanted:
            copied = await _copy_day(cleaner, site, next_copy.copy, day)
            next_copy = msgspec.structs.replace(next_copy, days=[*next_copy.days, copied])
            await site.prepare(next_copy)
    return len(wanted)


async def clean_usage_log(usage: CleanUsage, site: LogSite, before: date) -> Cleaned:
    """Clean the days before that one, or finish the cleanup that was cut short."""
    async with usage.alone() as cleaner:
        if cleaner is None:
            log.info("the usage log is being cleaned already")
            return Cleaned(())
        days = await cleaner.days()
        cleanup = await _unfinished(cleaner, site, days)
        if cleanup is None:
            cleanup = await _new(cleaner, site, [day for day in days if day < before], await usage.now())
        if not cleanup.days:
            return Cleaned(())
        await cleanup.copy()
        cleaned = await cleanup.drop()
        await site.forget_others()
    log.info("the usage log was cleaned of %d days, %d calls", len(cleaned.days), sum(day.rows for day in cleaned.days))
    return cleaned


async def _unfinished(cleaner: LogCleaner, site: LogSite, days: Sequence[date]) -> "Cleanup | None":
    last = await site.manifest()
    left = [] if last is None else left_over(last, days, await cleaner.dropped())
    return Cleanup(cleaner, site, last, left) if last is not None and left else None


async def _new(cleaner: LogCleaner, site: LogSite, days: Sequence[date], made_at: datetime) -> "Cleanup":
    prepared = await site.prepared()
    ready = [each for each in prepared.days if each.day in days] if prepared is not None else []
    name = prepared.copy if prepared is not None else copy_name(made_at)
    return Cleanup(cleaner, site, Manifest(copy=name, made_at=made_at, days=ready), days)


class Cleanup:
    """One cleanup: the days that it drops, and the copy that has them."""

    def __init__(self, cleaner: LogCleaner, site: LogSite, begun: Manifest, days: Sequence[date]) -> None:
        self.days = days
        self._cleaner = cleaner
        self._site = site
        self._begun = begun
        self._copied = {each.day: each for each in begun.days}

    async def copy(self) -> None:
        """Make the copy whole, and let it count."""
        for day in self.days:
            if not await self._is_copied(day):
                await self._copy_day(day)
        await self._publish()

    async def drop(self) -> Cleaned:
        """Drop the days, as far as that can be done now."""
        dropped = list[CopiedDay]()
        for day in self.days:
            try:
                gone = await self._drop_day(day)
            except DayChanged as problem:
                log.warning("%s It is copied anew.", problem)
                await self._copy_day(day)
                await self._publish()
                gone = await self._drop_day(day)
            if not gone:
                break
            dropped.append(self._copied[day])
        return Cleaned(dropped, self.days[len(dropped) :])

    async def _is_copied(self, day: date) -> bool:
        """Not only by what was written down of it: a file may be gone since."""
        copied = self._copied.get(day)
        if copied is None or not copied.rows:
            return copied is not None
        return await self._site.has(self._begun.copy, copied.file, copied.size_bytes)

    async def _copy_day(self, day: date) -> None:
        self._copied[day] = await _copy_day(self._cleaner, self._site, self._begun.copy, day)

    async def _publish(self) -> None:
        with_calls = [copied for _, copied in sorted(self._copied.items()) if copied.rows]
        if with_calls:
            await self._site.publish(msgspec.structs.replace(self._begun, days=with_calls))

    async def _drop_day(self, day: date) -> bool:
        for tries_left in reversed(range(DROP_TRIES)):
            try:
                await self._cleaner.drop_day(day, rows=self._copied[day].rows, copy=self._begun.copy)
            except LogInUse as problem:
                if not tries_left:
                    log.warning("%s It is copied, and will be dropped at the next run.", problem)
                    return False
                await asyncio.sleep(SECONDS_BETWEEN_TRIES)
            else:
                return True
        return False


async def _copy_day(cleaner: LogCleaner, site: LogSite, copy: str, day: date) -> CopiedDay:
    with tempfile.TemporaryDirectory(prefix="tollkeeper-usage-") as folder:
        file = Path(folder) / file_name(day)
        written = await cleaner.write_day(day, file)
        size_bytes, digest = await asyncio.to_thread(_measure, file)
        if written.rows:
            await site.put(copy, file.name, file)
    return CopiedDay(
        day=day, rows=written.rows, file=file.name, size_bytes=size_bytes, sha256=digest, parts=written.parts
    )


async def _days_in_turn(cleaner: LogCleaner) -> list[date]:
    """Without what came of days that had left the log: that waits for the next cleanup, and does not bring it about."""
    dropped = await cleaner.dropped()
    return [day for day in await cleaner.days() if day not in dropped]


def _measure(file: Path) -> tuple[int, str]:
    with file.open("rb") as content:
        return file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest()
