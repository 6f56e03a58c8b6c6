"""The `Limiter` port: sliding-window logs in Redis, shared by all nodes; each node judges alone while Redis is away."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from redis.crc import key_slot

from tollkeeper.core.limits.windows import LimitOutcome, Measure, Window, Windows, of_refused
from tollkeeper.ports import Passage
from tollkeeper.steady import RepeatedStep, wait_for_event
from tollkeeper.storage.limits.lane import Lane
from tollkeeper.storage.limits.lane_keeper import LaneKeeper
from tollkeeper.storage.limits.own_admissions import OwnAdmissions
from tollkeeper.storage.limits.window_wire import LEASE_US
from tollkeeper.storage.redis.places import Mode, RedisPlaces, RedisServer, Shard

LOOK_EVERY_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 0.5
RENEW_EVERY_SECONDS = LEASE_US / 3 / 1_000_000
FULL_MOST = 10_000


class RedisLimiter:
    def __init__(
        self, places: RedisPlaces, *, prefix: str, share: Callable[[], int], at_peak: Callable[[Passage, int], None]
    ) -> None:
        """`prefix`: of this deployment's keys; `at_peak` is told of time above the standard rate, in microseconds."""
        self._places = places
        self._prefix = prefix
        self._share = share
        self._at_peak = at_peak
        self._own = OwnAdmissions()
        self._running: dict[UUID, Passage] = {}
        # Windows that are known to be full, and until when.
        self._full: dict[tuple[str, str, int], float] = {}
        self._look_now = asyncio.Event()
        self._is_cluster = places.mode is Mode.CLUSTER
        self._shards: Sequence[Shard] = ()
        self._by_slot: dict[int, Lane] = {}
        self._keepers: dict[Lane, asyncio.Task[None]] = {}
        # Where no server has the slot, or none is known yet, this process judges alone.
        self._nowhere = self._lane(places.seeds[0])
        self._lanes = [self._nowhere]

    @property
    def is_live(self) -> bool:
        return all(lane.is_live for lane in self._lanes)

    def known_full(self, windows: Windows) -> LimitOutcome | None:
        if not self._full:
            return None
        now = time.monotonic()
        until = {window: self._full.get((windows.whose, window.name, window.limit), now) for window in windows.each}
        last = max(windows.each, key=lambda window: until[window], default=None)
        if last is None or until[last] <= now:
            return None
        wait_us = round((until[last] - now) * 1e6)
        return LimitOutcome(refused=last, at_us=0, retry_in_us=wait_us, peak_us=0, standing=of_refused(last, wait_us))

    async def admit(self, passage: Passage) -> LimitOutcome:
        windows = passage.windows
        lane = self._lane_of(windows.whose)
        outcome = await lane.ask(passage) if lane.is_live else None
        if outcome is None:
            outcome = lane.admit_alone(passage)
        if windows.count_running and outcome.refused is None:
            self._running[passage.request_id] = passage
        return outcome

    def ended(self, passage: Passage, more_tokens: int) -> None:
        if not passage.windows.only_calls:
            self._running.pop(passage.request_id, None)
            self._lane_of(passage.windows.whose).ended(passage, more_tokens)

    async def follow(self) -> None:
        """Know where Redis is and keep the ways to it good, until cancelled."""
        renewing = asyncio.create_task(self._renew())
        try:
            step = RepeatedStep("search for redis")
            while True:
                await step.run(self._look)
                self._nowhere.forget_old()
                await self._wait()
        finally:
            renewing.cancel()
            await self._leave(self._keepers)

    async def _look(self) -> None:
        try:
            shards = await self._places.shards()
        except OSError:
            # Servers that were known before may come back.
            return
        if shards == self._shards:
            return
        kept = {lane.place: lane for lane in self._keepers}
        lanes = [kept.get(shard.place) or self._lane(shard.place) for shard in shards]
        self._lanes, self._shards = lanes, shards
        self._by_slot = _by_slot(lanes, shards) if self._is_cluster else {}
        await self._leave([lane for lane in self._keepers if lane not in lanes])
        for lane in lanes:
            if lane not in self._keepers:
                self._keepers[lane] = asyncio.create_task(LaneKeeper(lane).keep())

    async def _wait(self) -> None:
        """Until it is time to look again: soon, where a server is away or is not in charge any more."""
        if await wait_for_event(self._look_now, LOOK_EVERY_SECONDS):
            # However many say so at once.
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        self._look_now.clear()

    async def _leave(self, lanes: Iterable[Lane]) -> None:
        for lane in list(lanes):
            keeper = self._keepers.pop(lane)
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_SECONDS)
            for lane in self._lanes:
                lane.renew()

    def _lane(self, place: RedisServer) -> Lane:
        lane: Lane = Lane(
            place,
            self._own,
            prefix=self._prefix,
            has=lambda whose: self._lane_of(whose) is lane,
            share=self._share,
            running=lambda: list(self._running.values()),
        )
        lane.speaks_of_all = not self._is_cluster
        lane.moved = self._look_now.set
        lane.on_outcome = self._on_outcome
        return lane

    def _lane_of(self, whose: str) -> Lane:
        if self._is_cluster:
            return self._by_slot.get(key_slot(whose.encode()), self._nowhere)
        return self._lanes[0]

    def _on_outcome(self, passage: Passage, outcome: LimitOutcome) -> None:
        if outcome.refused is not None:
            self._remember_full(passage.windows.whose, outcome.refused, outcome.retry_in_us)
        elif outcome.peak_us:
            self._at_peak(passage, outcome.peak_us)

    def _remember_full(self, whose: str, window: Window, wait_us: int) -> None:
        if window.measure is not Measure.CALLS:
            return
        if len(self._full) >= FULL_MOST:
            now = time.monotonic()
            self._full = {place: until for place, until in self._full.items() if until > now}
        if len(self._full) < FULL_MOST:
            self._full[whose, window.name, window.limit] = time.monotonic() + wait_us / 1e6


def _by_slot(lanes: Sequence[Lane], shards: Sequence[Shard]) -> dict[int, Lane]:
    return {
        slot: lane
        for lane, shard in zip(lanes, shards, strict=True)
        for first, last in shard.slots
        for slot in range(first, last + 1)
    }
