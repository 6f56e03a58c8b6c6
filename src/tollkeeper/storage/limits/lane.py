"""A lane, the way to one Redis server: calls that come together share a round trip (micro-batching), none waits long.

Rules of this file
1. One batch is under way at a time; calls that come meanwhile are the next one. A batch gathers for turns of the event
   loop, not for a time: two for each call of the last batch, within bounds. The turns of a busy loop are long and bring
   many calls along; those of an idle one are over at once.
2. A call that Redis does not answer within 50 ms is judged by this process alone, and so is every call until the answer
   is there: by the process's own admissions, against its share of what was left when Redis last answered.
3. A late answer is undone: its calls were judged meanwhile. A missing answer, and an error, break the connection. Every
   waiting call gets an outcome, or None, whatever happens to its batch.
4. The server's clock is the only one: this process keeps how far its own is away from it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import hiredis

from tollkeeper.core.limits.windows import SPAN_US, LimitOutcome, Measure
from tollkeeper.ports import Passage
from tollkeeper.storage.limits.alone import Alone
from tollkeeper.storage.limits.own_admissions import OwnAdmissions
from tollkeeper.storage.limits.window_wire import LEASE_US, command, outcomes, replay_commands, window_key
from tollkeeper.storage.redis.pipe import Pipe, RedisReply, pack
from tollkeeper.storage.redis.places import RedisServer

PATIENCE_SECONDS = 0.05
# After a moment in which this process itself stood still, an answer may lie there unread.
LOOK_AGAIN_SECONDS = 0.003
LATE_SECONDS = 2.0
WARN_EVERY_SECONDS = 10.0
BATCH_MOST = 256
GATHER_TURNS_MOST = 8
GATHER_SECONDS_MOST = 0.03
# What a server of a Cluster says where another one is in charge of a slot; it is a good server all the same.
ELSEWHERE = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN")

log = logging.getLogger(__name__)

Waiting = tuple[Passage, "asyncio.Future[LimitOutcome | None]"]


class Lane:
    def __init__(
        self,
        place: RedisServer,
        own: OwnAdmissions,
        *,
        prefix: str,
        has: Callable[[str], bool],
        share: Callable[[], int],
        running: Callable[[], Iterable[Passage]],
    ) -> None:
        """`has`: whether this server is asked about somebody; `share`: among how many processes limits are divided
        while it is away; `running`: the calls of this process that are counted as running."""
        self.place = place
        self.prefix = prefix
        self.has = has
        self.own = own
        self.is_live = False
        # Whether an answer is late, on a connection that may be good.
        self.is_late = False
        # Whether one command may speak of everybody, or of one only, as in a Cluster.
        self.speaks_of_all = True
        # Called when a server says that another one has the slot.
        self.moved: Callable[[], None] = lambda: None
        # Called with calls that were refused, and with those at peak.
        self.on_outcome: Callable[[Passage, LimitOutcome], None] = lambda *_: None
        self.offset_us = time.time_ns() // 1_000 - time.monotonic_ns() // 1_000
        self._running = running
        self._alone = Alone(own, has=has, share=share, running=running)
        self._pipe: Pipe | None = None
        self._waiting: list[Waiting] = []
        # The batch under way, since when, and who looks whether it takes too long.
        self._under_way: list[list[Waiting]] | None = None
        self._sent_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._asides: list[bytes] = []
        self._flush_is_due = False
        self._gather_turns = 2
        self._late_since = 0
        self._warned_at = float("-inf")

    def now_us(self) -> int:
        return time.monotonic_ns() // 1_000 + self.offset_us

    def ask(self, passage: Passage) -> asyncio.Future[LimitOutcome | None]:
        """Ask Redis, while this is live. None: no answer. A call that stopped waiting may still get its places."""
        waits: asyncio.Future[LimitOutcome | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((passage, waits))
        self._flush_soon()
        return waits

    def admit_alone(self, passage: Passage) -> LimitOutcome:
        outcome = self._alone.admit(passage, self.now_us())
        if outcome.refused is not None:
            self.on_outcome(passage, outcome)
        return outcome

    def ended(self, passage: Passage, more_tokens: int) -> None:
        """A call is over that was counted as running, or by its tokens."""
        self._alone.ended(passage, more_tokens, self.now_us())
        for window in passage.windows.each:
            key = window_key(self.prefix, passage.windows.whose, window.name)
            if window.measure is Measure.RUNNING:
                self._aside("ZREM", key, str(passage.request_id))
            elif window.measure is Measure.TOKENS and more_tokens:
                self._aside("HINCRBY", key, self.now_us() // 1_000_000, more_tokens)
                self._aside("PEXPIRE", key, SPAN_US // 1_000 + 2_000)

    def renew(self) -> None:
        """Say again which calls run: Redis believes in them for a while only, and may have forgotten them."""
        for passage in self._running():
            for window in passage.windows.each:
                if window.measure is Measure.RUNNING and self.has(passage.windows.whose):
                    key = window_key(self.prefix, passage.windows.whose, window.name)
                    self._aside("ZADD", key, self.now_us() + LEASE_US, str(passage.request_id))
                    self._aside("PEXPIRE", key, LEASE_US // 1_000)

    def connected(self, pipe: Pipe) -> None:
        """Send over this connection from now on."""
        self._pipe, self.is_live = pipe, True
        self._alone.end()
        pipe.broken.add_done_callback(lambda _: self.disconnected(pipe))
        self.renew()

    def disconnected(self, pipe: Pipe | None = None) -> None:
        """Judge alone from now on, the waiting calls too; unless that connection was given up before."""
        if pipe is not None and pipe is not self._pipe:
            return
        self.is_live, self.is_late, self._pipe = False, False, None
        self._stop_timer()
        left = [*(entry for group in self._under_way or () for entry in group), *self._waiting]
        self._under_way, self._waiting, self._asides = None, [], []
        _give_up(left)

    def forget_old(self) -> None:
        self._alone.forget_old(self.now_us())

    def _aside(self, *words: object) -> None:
        """Send something along with the next batch, and do not wait for what comes of it."""
        if self.is_live or self.is_late:
            self._asides.append(pack(words))
            self._flush_soon()

    def _flush_soon(self) -> None:
        if self._under_way is None and not self._flush_is_due and (self._waiting or self._asides):
            self._flush_is_due = True
            self._gather(self._gather_turns, asyncio.get_running_loop().time() + GATHER_SECONDS_MOST)

    def _gather(self, turns: int, until: float) -> None:
        """Let calls that come in the next turns of the event loop join the batch."""
        loop = asyncio.get_running_loop()
        if turns and loop.time() < until and len(self._waiting) < BATCH_MOST:
            loop.call_soon(self._gather, turns - 1, until)
        else:
            self._flush()

    def _flush(self) -> None:
        self._flush_is_due = False
        if self._pipe is None or self._under_way is not None or not (self._waiting or self._asides):
            return
        batch, self._waiting = self._waiting[:BATCH_MOST], self._waiting[BATCH_MOST:]
        asides, self._asides = self._asides, []
        self._under_way = groups = self._grouped(batch)
        self._gather_turns = max(2, min(2 * len(batch), GATHER_TURNS_MOST))
        loop = asyncio.get_running_loop()
        self._sent_at = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(PATIENCE_SECONDS, self._look)
        commands = [command(self.prefix, [passage for passage, _ in group]) for group in groups]
        self._pipe.send(b"".join([*asides, *commands]), len(asides) + len(groups), partial(self._on_replies, groups))

    def _look(self) -> None:
        """One timer for all batches, instead of one for each."""
        self._timer = None
        if self._under_way is not None:
            loop = asyncio.get_running_loop()
            left_seconds = self._sent_at + PATIENCE_SECONDS - loop.time()
            if left_seconds > 0:
                self._timer = loop.call_later(left_seconds, self._look)
            else:
                self._timer = loop.call_later(LOOK_AGAIN_SECONDS, self._be_late, self._under_way)

    def _be_late(self, groups: list[list[Waiting]]) -> None:
        """Redis is late: judge alone, and go on waiting for its answer meanwhile."""
        self._timer = None
        if self._pipe is None or self._under_way is None:
            return
        if self._under_way is not groups:
            self._look()
            return
        self.is_live, self.is_late, self._late_since = False, True, self.own.count
        waiting, self._waiting = self._waiting, []
        _give_up([*(entry for group in groups for entry in group), *waiting])
        self._timer = asyncio.get_running_loop().call_later(LATE_SECONDS, self._pipe.close)
        if time.monotonic() - self._warned_at > WARN_EVERY_SECONDS:
            self._warned_at = time.monotonic()
            log.warning("redis is late: calls are judged by this process's share of their limits meanwhile")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _come_back(self, groups: list[list[Waiting]], replies: Sequence[RedisReply]) -> None:
        """The late answer is there: release the places that it took, and replay those that were given instead."""
        for group, reply in zip(groups, replies, strict=True):
            if isinstance(reply, hiredis.ReplyError):
                continue
            passages = [passage for passage, _ in group]
            for passage, outcome in zip(passages, outcomes(passages, reply), strict=True):
                if outcome.refused is None:
                    self._asides += _released(self.prefix, passage, outcome)
        for (at_us, windows), alone in self.own.since(self._late_since):
            if alone and self.has(windows.whose):
                self._asides += replay_commands(self.prefix, windows, [at_us])
        self.is_live, self.is_late = True, False
        self._alone.end()

    def _grouped(self, batch: list[Waiting]) -> list[list[Waiting]]:
        if self.speaks_of_all:
            return [batch] if batch else []
        groups: dict[str, list[Waiting]] = {}
        for entry in batch:
            groups.setdefault(entry[0].windows.whose, []).append(entry)
        return list(groups.values())

    def _on_replies(self, groups: list[list[Waiting]], replies: list[RedisReply]) -> None:
        if groups is not self._under_way:
            # The connection was given up meanwhile, and so were those who waited.
            return
        self._under_way = None
        if self.is_late:
            self._stop_timer()
            self._come_back(groups, replies[len(replies) - len(groups) :])
            self._flush_soon()
            return
        try:
            for group, reply in zip(groups, replies[len(replies) - len(groups) :], strict=True):
                self._resolve(group, reply)
        finally:
            left = [entry for group in groups for entry in group if not entry[1].done()]
            if left:
                _give_up(left)
            else:
                # The server is itself again.
                self._alone.end()
        self._flush_soon()

    def _resolve(self, group: Sequence[Waiting], reply: RedisReply) -> None:
        if isinstance(reply, hiredis.ReplyError):
            self._on_error(reply)
            return
        now_us, admitted = time.monotonic_ns() // 1_000, []
        for (passage, waits), outcome in zip(group, outcomes([passage for passage, _ in group], reply), strict=True):
            windows = passage.windows
            windows.latest, windows.latest_us = outcome.standing, now_us
            if outcome.refused is None and windows.divided:
                admitted.append((outcome.at_us, windows))
            if outcome.refused is not None or outcome.peak_us:
                self.on_outcome(passage, outcome)
            if not waits.done():
                waits.set_result(outcome)
        if admitted:
            self.own.note(admitted, now_us, alone=False)
        self._alone.recall(admitted)

    def _on_error(self, problem: hiredis.ReplyError) -> None:
        self.moved()
        if not str(problem).startswith(ELSEWHERE) and self._pipe is not None:
            log.warning("redis answers with an error: %s", problem)
            self._pipe.close()


def _released(prefix: str, passage: Passage, outcome: LimitOutcome) -> list[bytes]:
    whose = passage.windows.whose
    return [pack(("LREM", window_key(prefix, whose, name), 1, outcome.at_us)) for name in passage.windows.call_names]


def _give_up(waiting: Iterable[Waiting]) -> None:
    """Calls without an outcome are judged by this process alone."""
    for _, waits in waiting:
        if not waits.done():
            waits.set_result(None)
