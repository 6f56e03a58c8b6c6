"""The ledger: holds and settles on the request path, and the orphans that nobody settled."""

from collections.abc import Awaitable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol
from uuid import UUID

import msgspec

from tollkeeper.core.charge import Charge, Ending
from tollkeeper.core.money import Quota
from tollkeeper.core.prices import Rate, Usage


class HoldOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Quota to reserve before a call is sent upstream."""

    request_id: UUID
    account_id: int
    key_id: int
    amount: Quota
    rate: Rate
    input_tokens: int
    seconds: int


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """More quota for a running call: its first, second, third … extension."""

    request_id: UUID
    sequence: int
    account_id: int
    key_id: int
    amount: Quota
    seconds: int


class Outcome(StrEnum):
    ADMITTED = "admitted"
    REPLAYED = "replayed"
    UNKNOWN_KEY = "unknown_key"
    UNKNOWN_HOLD = "unknown_hold"
    CLOSED = "closed"
    DEBT = "debt"
    ACCOUNT_SHORT = "account_short"
    KEY_SHORT = "key_short"
    BUDGET = "budget"


class Verdict(msgspec.Struct, frozen=True):
    """Whether quota was reserved. `available` is what there was of the quota that was short, or the debt."""

    outcome: Outcome
    available: Quota = Quota(0)

    @property
    def granted(self) -> bool:
        return self.outcome in {Outcome.ADMITTED, Outcome.REPLAYED}


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

    async def hold(self, order: HoldOrder) -> Verdict: ...
    async def extend(self, extension: Extension) -> Verdict: ...

    def note(self, settlement: Settlement) -> None:
        """Remember how to settle a running call, should this process die before it does."""
        ...

    def settle(self, settlement: Settlement) -> Awaitable[bool]:
        """Close a hold. Once this returns it will be done, awaited or not; the result says whether it was open."""
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
