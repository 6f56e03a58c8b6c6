"""Webhooks as they are kept, what is on its way to them, and who carries it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec


class WebhookRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook, without its secret."""

    id: int
    url: str
    note: str
    kinds: Sequence[str]
    created_at: datetime
    created_by: str
    former_until: datetime | None
    failing_since: datetime | None
    disabled_at: datetime | None
    disabled_because: str | None
    # Events that it has not taken yet.
    waiting: int


class WebhookChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is not said (None) stays as it is."""

    url: str | None = None
    note: str | None = None
    kinds: Sequence[str] | None = None
    is_on: bool | None = None


class DeliveryRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    event_id: str
    kind: str
    at: datetime
    attempts: int
    last_try_at: datetime | None
    last_status: int | None
    last_error: str | None
    next_try_at: datetime | None
    delivered_at: datetime | None
    given_up_at: datetime | None


class WebhookDesk(Protocol):
    async def listed(self) -> Sequence[WebhookRecord]: ...
    async def find(self, webhook: int) -> WebhookRecord:
        """Raise NotOnFile."""
        ...

    async def add(self, url: str, kinds: Sequence[str], note: str, secret: str, *, actor: str) -> WebhookRecord:
        """Raise BadWebhook where there are as many as there may be."""
        ...

    async def change(self, webhook: int, change: WebhookChange, *, actor: str) -> WebhookRecord:
        """Raise NotOnFile."""
        ...

    async def remove(self, webhook: int, *, actor: str) -> None:
        """With all that is on its way to it. Raise NotOnFile."""
        ...

    async def rotate(self, webhook: int, secret: str, lasts: timedelta, *, actor: str) -> WebhookRecord:
        """The secret that it had goes on signing for so long. Raise NotOnFile."""
        ...

    async def test(self, webhook: int, *, actor: str) -> int:
        """Send an event that says nothing; the delivery. Raise NotOnFile, or BadWebhook where it is switched off."""
        ...

    async def deliveries(self, webhook: int, *, before_id: int | None, limit: int) -> Sequence[DeliveryRecord]:
        """The newest first. Raise NotOnFile."""
        ...

    async def again(self, delivery: int, *, actor: str) -> None:
        """Deliver it once more, at once. Raise NotOnFile, or BadWebhook where its webhook is switched off."""
        ...


class ClaimedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that is to be made now, within two minutes."""

    id: int
    webhook_id: int
    attempt: int
    url: str
    # None where they cannot be opened.
    secrets: Sequence[str]
    event_id: str
    kind: str
    at: datetime
    data: Mapping[str, object]
    now: datetime


class DeliveryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an attempt. `error`: None where it was taken. `wait`: None where it is not tried again."""

    status: int | None
    error: str | None
    wait: timedelta | None
    is_gone: bool = False


class Deliveries(Protocol):
    async def claim(self, passed_over: Sequence[int]) -> Sequence[ClaimedDelivery]:
        """A few that are due of every webhook, but for those that are passed over."""
        ...

    async def note(self, claimed: ClaimedDelivery, outcome: DeliveryOutcome) -> bool:
        """Whether its webhook was switched off because of it."""
        ...


class NotPosted(Exception):
    """Nobody took it; the message says why, and quotes nothing that the receiver said."""


class Poster(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """The status of the answer. Raise NotPosted."""
        ...
