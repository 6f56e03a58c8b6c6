"""Attempts: one sending of an order to one provider account, and how it failed."""

import time
from collections.abc import Iterable, Mapping

import msgspec

from tollkeeper.core.money.prices import MILLIONTHS
from tollkeeper.core.pool.health import Trouble
from tollkeeper.core.pool.provider_status import ShownAs, meaning_of
from tollkeeper.ports import Failure, ProviderAccount, UpstreamAnswer, Vendor
from tollkeeper.relay.dispatch.provider_refusal import seconds_in

REFUSED = "refused"
TOO_LONG = "too_long"


class Attempt(msgspec.Struct):
    """One sending of an order to one provider account, as the receipt tells it."""

    account: str
    outcome: str = ""
    status: int | None = None
    first_byte_ms: int | None = None
    ms: int | None = None
    begun: float = 0.0
    sent: bool = False
    # What its refusal means for the caller.
    shown_as: ShownAs = ShownAs.LATER
    # What the account costs us, in millionths of the list price.
    cost_share: int = MILLIONTHS
    # The account itself, for those who tell of the attempt afterwards.
    provider: ProviderAccount | None = None

    def end(self, outcome: str) -> None:
        self.outcome = outcome
        self.ms = milliseconds_since(self.begun)

    @property
    def may_have_cost(self) -> bool:
        """Whether the provider has the order and has not refused it."""
        return self.sent and self.outcome != REFUSED

    def as_receipt(self, ending: str, cost: int) -> Mapping[str, object]:
        """For the receipt; an attempt with no outcome of its own ended as its call did."""
        ms = milliseconds_since(self.begun) if self.ms is None else self.ms
        shown: dict[str, object] = {"account": self.account, "outcome": self.outcome or ending, "ms": ms, "cost": cost}
        if self.status is not None:
            shown["status"] = self.status
        if self.first_byte_ms is not None:
            shown["first_byte_ms"] = self.first_byte_ms
        return shown


class Setback(msgspec.Struct, kw_only=True):
    """An attempt that may be followed by another. `failure` where nobody knows what became of the order."""

    trouble: Trouble | None
    failure: Failure | None = None
    status: int = 0
    retry_after: str | None = None
    # What the failure means for the caller.
    shown_as: ShownAs = ShownAs.LATER

    @property
    def outcome(self) -> str:
        return REFUSED if self.failure is None else self.failure.value

    @property
    def because(self) -> str:
        return f"its key was refused with {self.status}" if self.trouble is Trouble.CREDENTIAL else self.outcome

    @property
    def retry_after_seconds(self) -> float | None:
        return seconds_in(self.retry_after)


def setback_of(answer: UpstreamAnswer, body: bytes, vendor: Vendor) -> Setback:
    """What an answer means that is a refusal with these words."""
    status = vendor.meaning(answer.status, body)
    retry_after = answer.header("retry-after")
    meaning = meaning_of(status, body, says_when=retry_after is not None)
    return Setback(trouble=meaning.trouble, status=status, retry_after=retry_after, shown_as=meaning.shown_as)


def seconds_of(attempts: Iterable[Attempt]) -> float:
    """How long attempts took together; one that has no end of its own ends now."""
    now, seconds = time.monotonic(), 0.0
    for attempt in attempts:
        seconds += now - attempt.begun if attempt.ms is None else attempt.ms / 1_000
    return seconds


def milliseconds_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1_000)
