"""The lane keeper: connects a lane to its Redis server, probes it, and replays the admissions that the server lost.

Rules of this file
1. A server keeps a mark (a generation id). A server with another mark than before lost its data: this process replays
   all its admissions of the last 60 seconds, and asks nothing before all processes had the time to do the same.
2. To a server that was only out of reach, the process replays what it admitted meanwhile and shortly before.
3. A replay is cut into small pieces, so that the server goes on answering others.
"""

import asyncio
import logging
import time

from tollkeeper.core.limits.windows import SPAN_US
from tollkeeper.steady import run_and_log
from tollkeeper.storage.limits.lane import Lane
from tollkeeper.storage.limits.window_wire import MARK, REPLAY, REPLAY_SHA, WINDOWS, window_key
from tollkeeper.storage.redis.pipe import Pipe, connect

SETUP_SECONDS = 2.0
PROBE_EVERY_SECONDS = 1.0
RETRY_SECONDS = (0.1, 0.25, 0.5, 1.0)
# A connection that served for so long was a good one.
LONG_ENOUGH_SECONDS = 5.0
# Longer than any process waits before it tries again.
GRACE_US = 4_000_000
# What a server may not have written down, or handed to its replica, when it was lost.
LAST_MOMENT_US = 2_000_000
MARKS_TRIED = 10_000
# Of one window, the newest; and in one piece.
TIMES_MOST = 2_000
TIMES_AT_ONCE = 200
WINDOWS_AT_ONCE = 50
BETWEEN_PIECES_SECONDS = 0.002

log = logging.getLogger(__name__)


class LaneKeeper:
    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._mark: int | None = None
        self._served_seconds = 0.0

    async def keep(self) -> None:
        """Until cancelled."""
        failures = 0
        try:
            while True:
                await run_and_log("way to redis", self._connect_and_tend)
                failures = 1 if self._served_seconds > LONG_ENOUGH_SECONDS else failures + 1
                if failures == 1:
                    log.warning("redis is away: this process goes by its share of the limits until it is back")
                self._lane.disconnected()
                self._lane.forget_old()
                self._lane.moved()
                await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1])
        finally:
            self._lane.disconnected()

    async def _connect_and_tend(self) -> None:
        self._served_seconds = 0.0
        try:
            async with asyncio.timeout(SETUP_SECONDS):
                pipe = await connect(self._lane.place)
            try:
                await self._tend(pipe)
            finally:
                pipe.close()
        except (OSError, TimeoutError) as problem:
            log.debug("no good connection to redis: %r", problem)

    async def _tend(self, pipe: Pipe) -> None:
        """Probe a connection again and again, until it breaks."""
        lane, rose_at = self._lane, None
        async with asyncio.timeout(SETUP_SECONDS):
            await pipe.ask(("SCRIPT", "LOAD", WINDOWS), ("SCRIPT", "LOAD", REPLAY))
        while not pipe.broken.done():
            replayed_until = 0
            made_us, now_us = await self._read_mark(pipe)
            if made_us != self._mark:
                lane.disconnected()
                replayed_until = await self._replay(pipe, 0, everything=True)
                # A process that has just begun knows no earlier mark; one that does waits while the others replay.
                if self._mark is not None:
                    await asyncio.wait({pipe.broken}, timeout=max(0, made_us + GRACE_US - now_us) / 1e6)
                self._mark = made_us
            while not (lane.is_live or lane.is_late or pipe.broken.done()):
                count = lane.own.count
                replayed_until = await self._replay(pipe, replayed_until, everything=replayed_until > 0)
                if count == lane.own.count:
                    lane.connected(pipe)
                    rose_at = time.monotonic()
            await asyncio.wait({pipe.broken}, timeout=PROBE_EVERY_SECONDS)
            self._served_seconds = time.monotonic() - rose_at if rose_at is not None else 0.0

    async def _read_mark(self, pipe: Pipe) -> tuple[int, int]:
        """Since when the server remembers, and its time, by which this process sets its own."""
        begun = time.monotonic_ns()
        async with asyncio.timeout(SETUP_SECONDS):
            [told] = await pipe.ask(("EVAL", MARK, 1, self._mark_key()))
        now_us, made_us = int(told[0]), int(told[1])
        self._lane.offset_us = now_us - (begun + time.monotonic_ns()) // 2_000
        return made_us, now_us

    async def _replay(self, pipe: Pipe, since: int, *, everything: bool) -> int:
        """Tell what was admitted after so many others; up to which it was told."""
        lane = self._lane
        count, lost_after_us = lane.own.count, lane.now_us() - LAST_MOMENT_US
        times: dict[str, list[int]] = {}
        for (at_us, windows), alone in lane.own.since(since):
            if lane.has(windows.whose) and (everything or alone or at_us > lost_after_us):
                for name in windows.call_names:
                    times.setdefault(window_key(lane.prefix, windows.whose, name), []).append(at_us)
        commands: list[tuple[object, ...]] = []
        pieces = 0
        for key, found in times.items():
            newest = found[-TIMES_MOST:]
            for first in range(0, len(newest), TIMES_AT_ONCE):
                piece = newest[first : first + TIMES_AT_ONCE]
                commands.append(("EVALSHA", REPLAY_SHA, 1, key, SPAN_US, *piece))
                pieces += len(piece)
                if len(commands) >= WINDOWS_AT_ONCE or pieces >= TIMES_AT_ONCE:
                    await self._send(pipe, commands)
                    commands, pieces = [], 0
        await self._send(pipe, commands)
        return count

    async def _send(self, pipe: Pipe, commands: list[tuple[object, ...]]) -> None:
        if commands:
            async with asyncio.timeout(SETUP_SECONDS):
                await pipe.ask(*commands)
            await asyncio.sleep(BETWEEN_PIECES_SECONDS)

    def _mark_key(self) -> str:
        """One that this very server has."""
        found = next((number for number in range(MARKS_TRIED) if self._lane.has(f"mark-{number}")), None)
        if found is None:
            raise ConnectionError("this server has no slots")
        return window_key(self._lane.prefix, f"mark-{found}", "mark")
