"""The `InvalidCalls` port: all nodes count in Redis; an IP with too many invalid calls is banned in PostgreSQL.

One writer puts bans on record, one after the other: a flood from many IPs must not take the database from calls.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from uuid import UUID

from tollkeeper.core.limits.windows import SPAN_SECONDS, Window, Windows
from tollkeeper.ports import Ban, Limiter, Passage
from tollkeeper.steady import run_and_log
from tollkeeper.storage.limits.recent_codes import RecentCodes

BANS_WAITING_MOST = 10_000
NOBODY = UUID(int=0)
RETRY_SECONDS = 1.0

Counted = Mapping[str, object]
BanIp = Callable[[str, Counted], Awaitable[Ban | None]]


class SharedInvalidCalls:
    def __init__(self, limiter: Limiter, most: int, ban: BanIp, put: Callable[[Ban], None]) -> None:
        """`ban` writes a ban down and returns the one in force; `put` makes it known to this process at once."""
        self._limiter = limiter
        self._window = Window("invalid", most, divided=False)
        self._ban = ban
        self._put = put
        self._codes = RecentCodes(SPAN_SECONDS)
        self._under_way: set[asyncio.Task[None]] = set()
        self._due: dict[str, Counted] = {}
        self._is_due = asyncio.Event()

    def note(self, ip: str, code: str) -> None:
        counting = asyncio.create_task(self._count(ip, code))
        self._under_way.add(counting)
        counting.add_done_callback(self._under_way.discard)

    async def follow(self) -> None:
        """Put bans on record, until cancelled."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            while self._due:
                ip, counted = next(iter(self._due.items()))
                if await run_and_log("ban of an IP", partial(self._write, ip, counted)):
                    self._due.pop(ip, None)
                else:
                    await asyncio.sleep(RETRY_SECONDS)

    async def _count(self, ip: str, code: str) -> None:
        if ip in self._due:
            return
        passage = Passage(windows=Windows(f"ip-{ip}", (self._window,)), request_id=NOBODY)
        outcome = await self._limiter.admit(passage)
        if ip in self._due:
            return
        # Only what the window counts, and the one call that was too many.
        self._codes.add(ip, code, time.monotonic())
        if outcome.refused is not None and len(self._due) < BANS_WAITING_MOST:
            self._due[ip] = self._counted(ip)
            self._is_due.set()

    def _counted(self, ip: str) -> Counted:
        """The evidence. Other processes may have seen some of the calls; this one never more than it tells."""
        codes = self._codes.of(ip, time.monotonic())
        calls = max(self._window.limit + 1, sum(codes.values()))
        return {"calls": calls, "within_seconds": SPAN_SECONDS, "codes_seen_here": codes}

    async def _write(self, ip: str, counted: Counted) -> None:
        ban = await self._ban(ip, counted)
        if ban is not None:
            self._put(ban)
