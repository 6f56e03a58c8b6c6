"""The ports of a call, each as a small honest implementation in memory: no store, no socket, no process.

What can be asked of them at the end of a test is that everything taken was given back: see `House.check`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.catalog.models import Shelf
from tollkeeper.core.errors import QueueFull, StoreUnavailable, WorkerFenced
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.window_log import WindowLog
from tollkeeper.core.limits.windows import LimitOutcome, Measure, Windows, of_refused
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import (
    Capabilities,
    Extension,
    Failure,
    HoldOrder,
    HoldVerdict,
    Passage,
    Progress,
    ProviderAccount,
    Settlement,
    UpstreamFailed,
    UpstreamRequest,
)
from tollkeeper.storage.ledger.memory_ledger import MemoryLedger

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


class StillClock:
    """It is noon, until a test says otherwise."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment

    def unix_milliseconds(self) -> int:
        return int(self.moment.timestamp() * 1_000)


class KnownKeys:
    def __init__(self, records: Mapping[str, KeyRecord]) -> None:
        self.records = dict(records)
        self.is_away = False

    async def find(self, key: str) -> KeyRecord | None:
        if self.is_away:
            raise StoreUnavailable
        return self.records.get(key)

    def remembered(self, key: str) -> KeyRecord | None:
        return None if self.is_away else self.records.get(key)


class OneShelf:
    def __init__(self, shelf: Shelf) -> None:
        self.on_offer = shelf

    async def shelf(self) -> Shelf:
        return self.on_offer


class SaidLengths:
    """Every file is as long as the test says."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    async def milliseconds(self, content: bytes | bytearray, filename: str, *, owner: int) -> int:
        return self._milliseconds


class MemoryLimiter:
    """The windows of one process that has them to itself."""

    def __init__(self) -> None:
        self.now_us = 1_000_000_000
        self._log = WindowLog()
        self._full: dict[tuple[str, str, int], int] = {}
        self.running: set[UUID] = set()

    def known_full(self, windows: Windows) -> LimitOutcome | None:
        for window in windows.each:
            wait_us = self._full.get((windows.whose, window.name, window.limit), 0) - self.now_us
            if wait_us > 0:
                standing = of_refused(window, wait_us)
                return LimitOutcome(refused=window, at_us=0, retry_in_us=wait_us, peak_us=0, standing=standing)
        return None

    async def admit(self, passage: Passage) -> LimitOutcome:
        windows = passage.windows
        outcome = self._log.admit(
            windows.whose, windows.each, self.now_us, tokens=passage.tokens, request_id=passage.request_id
        )
        refused = outcome.refused
        if refused is None:
            self.running.add(passage.request_id)
        elif refused.measure is Measure.CALLS:
            self._full[windows.whose, refused.name, refused.limit] = self.now_us + outcome.retry_in_us
        return outcome

    def ended(self, passage: Passage, more_tokens: int) -> None:
        self.running.discard(passage.request_id)
        self._log.ended(passage.windows, passage.request_id, more_tokens, self.now_us)


class Books(MemoryLedger):
    """The ledger's twin, which also shows its receipts and can be away for a while."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(now)
        self.receipts: list[Settlement] = []
        # Of settlements that closed nothing: somebody has closed a hold twice, or one that is not there.
        self.closed_nothing: list[Settlement] = []
        self.noted: list[Settlement] = []
        self.checkpoints: list[Progress] = []
        # So many extensions are not heard before one is.
        self.extensions_unheard = 0
        # How long a checkpoint takes.
        self.checkpoint_seconds = 0.0
        # How many of them are lost on their way.
        self.checkpoints_lost = 0
        # Whether another has settled our calls, taking this process for dead; and whether it has said so.
        self.is_taken_for_dead = False
        self.is_fenced = False

    async def hold(self, order: HoldOrder) -> HoldVerdict:
        if self.is_fenced:
            raise WorkerFenced
        return await super().hold(order)

    async def extend(self, extension: Extension) -> HoldVerdict:
        if self.is_fenced:
            raise WorkerFenced
        if self.extensions_unheard:
            self.extensions_unheard -= 1
            raise QueueFull
        return await super().extend(extension)

    def note(self, settlement: Settlement) -> None:
        self.noted.append(settlement)

    async def checkpoint(self, progress: Progress) -> bool:
        self.checkpoints.append(progress)
        await asyncio.sleep(self.checkpoint_seconds)
        if self.checkpoints_lost:
            self.checkpoints_lost -= 1
            raise StoreUnavailable
        return await super().checkpoint(progress) and not self.is_taken_for_dead

    def _settle(self, settlement: Settlement) -> bool:
        is_closed = super()._settle(settlement)
        (self.receipts if is_closed else self.closed_nothing).append(settlement)
        return is_closed

    def check(self) -> None:
        """No hold is open, none was closed twice, and every unit of every lot is where the entries say."""
        left_open = [hold for hold in self.holds.values() if hold.charged is None]
        assert (left_open, self.closed_nothing) == ([], [])
        assert len(self.receipts) == len(self.holds)
        for account_id, account in self.accounts.items():
            own = [entry for entry in self.entries if entry.account_id == account_id]
            lots = [filed for filed in self.lots.values() if filed.account_id == account_id]
            charged = sum(entry.amount for entry in own if entry.kind in {"charged", "overrun", "debt"})
            receipts = [receipt.charge.amount for receipt in self.receipts if receipt.account_id == account_id]
            assert account.held == 0
            assert charged == account.used == sum(receipts)
            assert sum(filed.granted - filed.lot.remaining for filed in lots) == charged - account.debt


class MemorySeat:
    def __init__(self, pool: "MemoryPool", account: ProviderAccount) -> None:
        self.account = account
        self._pool = pool

    def succeed(self, first_byte_seconds: float) -> None:
        self._pool.succeeded.append(self.account.name)

    def fail(self, trouble: Trouble, because: str, retry_after_seconds: float | None = None) -> None:
        self._pool.failed.append((self.account.name, trouble, retry_after_seconds))
        self.leave()

    def leave(self, output_tokens: int = 0) -> None:
        if self in self._pool.taken:
            self._pool.taken.remove(self)
            self._pool.left.append((self.account.name, output_tokens))


class MemoryPool:
    """Accounts in the order in which they are given. What they are said to have done is written down, and changes
    nothing: a test that wants one out says so."""

    def __init__(self, accounts: Sequence[ProviderAccount]) -> None:
        self.accounts = list(accounts)
        self.out: set[int] = set()
        self.seconds_out: float | None = None
        self.retries_left = 100
        self.taken: list[MemorySeat] = []
        self.succeeded: list[str] = []
        self.failed: list[tuple[str, Trouble, float | None]] = []
        self.left: list[tuple[str, int]] = []
        self.conversations: list[bytes] = []

    async def choose(
        self,
        model_id: str,
        *,
        by: int,
        tried: Collection[int] = (),
        unfit: Collection[Capabilities] = (),
        conversation: Callable[[], bytes] | None = None,
    ) -> ProviderAccount | None:
        self.conversations.append(b"" if conversation is None else conversation())
        for account in self._serving(model_id, unfit):
            if account.id not in tried and account.id not in self.out:
                return account
        return None

    def seat(self, account: ProviderAccount, *, model_id: str, by: int, tokens: int) -> MemorySeat:
        seat = MemorySeat(self, account)
        self.taken.append(seat)
        return seat

    def serves(self, model_id: str, *, unfit: Collection[Capabilities]) -> bool:
        return bool(self._serving(model_id, unfit))

    def may_try_again(self, *, by: int) -> bool:
        self.retries_left -= 1
        return self.retries_left >= 0

    def seconds_until_seats(self, model_id: str) -> float | None:
        return self.seconds_out

    def _serving(self, model_id: str, unfit: Collection[Capabilities]) -> list[ProviderAccount]:
        return [
            account
            for account in self.accounts
            if account.takes_calls and account.capabilities not in unfit and account.name_of(model_id) is not None
        ]


# What a provider does next: say something, be silent for so many seconds, fail; or something else happens meanwhile, to
# what the test has at hand.
Step = bytes | float | Failure | Callable[[Any], None]


class Reply:
    """One answer of a provider: what happens until it begins, and what happens then. After that it has ended well."""

    def __init__(
        self, *steps: Step, before: Sequence[Step] = (), status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.before = before
        self.steps = steps
        self.status = status
        self.headers = headers or {}


class ScriptedAnswer:
    is_translated = False
    untranslated: LeftOut | None = None
    native: bytes | None = None

    def __init__(self, upstream: "ScriptedUpstream", reply: Reply) -> None:
        self.status = reply.status
        self._headers = reply.headers
        self._steps = deque(reply.steps)
        self._upstream = upstream
        self._take: Callable[[bytes], bool] | None = None
        self.is_closed = False

    def header(self, name: str) -> str | None:
        return self._headers.get(name)

    def pass_by(self, take: Callable[[bytes], bool]) -> None:
        self._take = take

    async def read(self) -> bytes:
        if self.is_closed:
            raise UpstreamFailed(Failure.BROKEN)
        try:
            while True:
                async with asyncio.timeout(self._upstream.idle_seconds):
                    piece = await self._upstream.play(self._steps)
                if not piece or self._take is None or not self._take(piece):
                    return piece
        except TimeoutError:
            raise UpstreamFailed(Failure.STALLED) from None
        except asyncio.CancelledError:
            await self.close()
            raise

    @property
    def was_heard_out(self) -> bool:
        return not self._steps

    async def close(self) -> None:
        self.is_closed = True
        if self in self._upstream.open:
            self._upstream.open.remove(self)


class ScriptedUpstream:
    """Providers that answer one order after another as the test says."""

    def __init__(self, *, idle_seconds: float, at_hand: object = None) -> None:
        self.idle_seconds = idle_seconds
        self._at_hand = at_hand
        self.replies: deque[Reply] = deque()
        self.requests: list[UpstreamRequest] = []
        self.answers: list[ScriptedAnswer] = []
        self.open: list[ScriptedAnswer] = []

    async def send(self, request: UpstreamRequest) -> ScriptedAnswer:
        assert self.replies, "providers were asked more often than the test expects"
        reply = self.replies.popleft()
        self.requests.append(request)
        if Failure.UNREACHABLE not in reply.before:
            request.on_sent()
        try:
            async with asyncio.timeout(request.first_byte_seconds):
                await self.play(deque(reply.before))
        except TimeoutError:
            raise UpstreamFailed(Failure.SILENT) from None
        answer = ScriptedAnswer(self, reply)
        self.answers.append(answer)
        self.open.append(answer)
        return answer

    async def play(self, steps: deque[Step]) -> bytes:
        """Until something is said, or nothing is left."""
        while steps:
            step = steps.popleft()
            if isinstance(step, bytes):
                return step
            if isinstance(step, Failure):
                raise UpstreamFailed(step)
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                step(self._at_hand)
        return b""
