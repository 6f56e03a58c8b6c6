"""The ledger: holds and settles on the request path, and the orphans that nobody settled."""

from collections.abc import Awaitable, Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending
from tollkeeper.core.money.prices import Rate, Usage


class CallClaim(msgspec.Struct, frozen=True):
    """By what a call is known again: digests of its key and its body, made under a secret. They show no content."""

    digest: bytes
    body: bytes
    # Whether calls that come later with the same key find this one; or this one only looks for an earlier one.
    is_taken: bool = True


class HoldOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Quota to reserve before a call is sent upstream."""

    request_id: UUID
    account_id: int
    key_id: int
    amount: Quota
    rate: Rate
    input_units: int
    seconds: int
    # Of a call that must not be paid for twice.
    claim: CallClaim | None = None


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """More quota for a running call: its first, second, third … extension."""

    request_id: UUID
    sequence: int
    account_id: int
    key_id: int
    amount: Quota
    seconds: int


class HoldOutcome(StrEnum):
    ADMITTED = "admitted"
    REPLAYED = "replayed"
    UNKNOWN_KEY = "unknown_key"
    UNKNOWN_HOLD = "unknown_hold"
    CLOSED = "closed"
    DEBT = "debt"
    ACCOUNT_SHORT = "account_short"
    KEY_SHORT = "key_short"
    BUDGET = "budget"
    # Of a call whose key was used before, within a day.
    REPEATED_RUNNING = "repeated_running"
    REPEATED = "repeated"
    OTHER_BODY = "other_body"


class BudgetPeriod(StrEnum):
    DAY = "daily"
    MONTH = "monthly"


class KeyBudget(msgspec.Struct, frozen=True):
    """Which of a key's budgets is used up, and on which day (UTC) it begins anew."""

    period: BudgetPeriod
    renews_on: date

    @classmethod
    def of(cls, period: BudgetPeriod, today: date) -> "KeyBudget":
        if period is BudgetPeriod.DAY:
            return cls(period, today + timedelta(days=1))
        # 32 days after its first, a month is over, and the next is not.
        return cls(period, (today.replace(day=1) + timedelta(days=32)).replace(day=1))


class HoldVerdict(msgspec.Struct, frozen=True):
    """Whether quota was reserved. `available` is what there was of the quota that was short, or the debt; what is left
    after a hold that was admitted; of a call that was made before, what it holds or was charged. `first` is that call,
    where the same API key made it."""

    outcome: HoldOutcome
    available: Quota = Quota(0)
    first: UUID | None = None
    # Of a key's budget that was short; None where that could not be found out.
    budget: KeyBudget | None = None

    @property
    def granted(self) -> bool:
        return self.outcome in {HoldOutcome.ADMITTED, HoldOutcome.REPLAYED}


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended and what it costs: its receipt, and the order to close its hold."""

    request_id: UUID
    account_id: int
    charge: Charge
    ending: Ending
    attempts: tuple[Mapping[str, object], ...] = ()


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a running call has come."""

    request_id: UUID
    usage: Usage
    seconds: int


class Ledger(Protocol):
    """Holds and settles, on the request path. Everything is idempotent by request id."""

    async def hold(self, order: HoldOrder) -> HoldVerdict: ...
    async def extend(self, extension: Extension) -> HoldVerdict: ...

    def note(self, settlement: Settlement) -> None:
        """Remember how to settle a running call, should this process die before it does."""
        ...

    def note_sending(self, request_id: UUID) -> None:
        """Remember that a call is about to go out to a provider, should this process die: what never did is free."""
        ...

    def settle(self, settlement: Settlement) -> Awaitable[bool]:
        """Close a hold. Once this returns it will be done, awaited or not; the result says whether it was open."""
        ...

    async def note_cut(self, request_id: UUID, account_id: int, claim: CallClaim) -> None:
        """Let a running call be found by its claim: its caller was told that it goes on alone."""
        ...

    async def checkpoint(self, progress: Progress) -> bool:
        """Note how far a call has come, and keep its hold. False where the hold is not ours and open any more."""
        ...


# How often a worker says that it lives. Who judges by its silence must know.
HEARTBEAT_SECONDS = 5.0


class Orphans(Protocol):
    """Open holds that nobody will settle any more."""

    async def fence_silent_workers(self, silence_seconds: float) -> Sequence[int]:
        """Take workers without a heartbeat for dead: they may take no more holds."""
        ...

    async def find(self) -> Sequence[Settlement]:
        """The settlements that close holds of dead owners and holds past their deadline."""
        ...
