"""Webhooks: which addresses are told of events, with which secret, and what came of each delivery.

Rules of this file
1. Only whoever has every right sends events somewhere: they name customers.
2. A secret is shown when it is made, and never again.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.core.one_line import one_line
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.webhooks import (
    FORMER_SECRET_LASTS,
    SECRET_BYTES,
    URL_CHARACTERS_MOST,
    BadWebhook,
    WebhookKind,
    checked_url,
    secret_of,
    shown_url,
)
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import ROW_MOST, Changed, NoWish, ReasonText
from tollkeeper.ports.webhooks import DeliveryRecord, WebhookChange, WebhookRecord

WebhookId = Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The webhook's number.")]
WebhookUrl = Annotated[
    str, msgspec.Meta(max_length=URL_CHARACTERS_MOST, description="Where events are sent: https://host/path.")
]
WebhookKinds = Annotated[list[WebhookKind], msgspec.Meta(min_length=1, max_length=50)]
WebhookNote = Annotated[str, msgspec.Meta(max_length=200, description="What it is for: one line.")]


class NewWebhookWish(msgspec.Struct, frozen=True, kw_only=True):
    url: WebhookUrl
    # None: every kind that there is now.
    kinds: WebhookKinds | None = None
    note: WebhookNote = ""
    reason: ReasonText = ""


class WebhookWish(msgspec.Struct, frozen=True, kw_only=True):
    webhook: WebhookId


class WebhookReason(WebhookWish, frozen=True, kw_only=True):
    reason: ReasonText


class WebhookSecretWish(WebhookWish, frozen=True, kw_only=True):
    reason: ReasonText = ""


class WebhookChangeWish(WebhookWish, frozen=True, kw_only=True):
    """What is left out stays as it is."""

    url: WebhookUrl | None = None
    kinds: WebhookKinds | None = None
    note: WebhookNote | None = None
    is_on: Annotated[bool, msgspec.Meta(description="False: nothing is sent; events are not kept for it.")] | None = (
        None
    )
    reason: ReasonText = ""


class DeliveriesWish(Paging, frozen=True, kw_only=True):
    webhook: WebhookId


class DeliveryWish(msgspec.Struct, frozen=True, kw_only=True):
    delivery: Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The delivery's number.")]


class WebhookView(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook. Of its address, what stands after the question mark is left out. `failing_since`: since when its
    receiver takes nothing; after five days it is switched off. `waiting`: events it has not taken, 1000 at most."""

    id: int
    url: str
    note: str
    kinds: Sequence[str]
    is_on: bool
    off_because: str | None
    failing_since: datetime | None
    waiting: int
    former_secret_until: datetime | None
    created_at: datetime
    created_by: str


class MadeWebhook(msgspec.Struct, frozen=True, kw_only=True):
    webhook: WebhookView
    # Shown here and never again.
    secret: str


class SentEvent(msgspec.Struct, frozen=True, kw_only=True):
    delivery: int


@act("GET", "/webhooks", Scope.READ)
async def list_webhooks(office: Office, wish: NoWish, by: Actor) -> Listed[WebhookView]:
    """Every webhook, and whether its receiver takes what it is sent."""
    return Listed([view_of(record) for record in await office.webhooks.listed()])


@act("GET", "/webhooks/{webhook}", Scope.READ)
async def show_webhook(office: Office, wish: WebhookWish, by: Actor) -> WebhookView:
    """One webhook."""
    return view_of(await office.webhooks.find(wish.webhook))


@act("POST", "/webhooks", Scope.EVERYTHING)
async def add_webhook(office: Office, wish: NewWebhookWish, by: Actor) -> MadeWebhook:
    """Send events to an address, from now on. The secret that signs them is in the answer and nowhere else."""
    url = checked_url(wish.url, private_allowed=office.private_webhooks)
    kinds = _names(wish.kinds if wish.kinds is not None else list(WebhookKind))
    secret = _new_secret()
    record = await office.webhooks.add(url, kinds, _note(wish.note), secret, actor=by.name)
    return MadeWebhook(webhook=view_of(record), secret=secret)


@act("PATCH", "/webhooks/{webhook}", Scope.EVERYTHING)
async def change_webhook(office: Office, wish: WebhookChangeWish, by: Actor) -> WebhookView:
    """Change where it sends to, what it is told of or its note; or switch it off or on."""
    change = WebhookChange(
        url=None if wish.url is None else checked_url(wish.url, private_allowed=office.private_webhooks),
        kinds=None if wish.kinds is None else _names(wish.kinds),
        note=None if wish.note is None else _note(wish.note),
        is_on=wish.is_on,
    )
    if change == WebhookChange():
        raise BadWebhook("Say what is to be changed: url, kinds, note or is_on. Nothing was done.")
    return view_of(await office.webhooks.change(wish.webhook, change, actor=by.name))


@act("DELETE", "/webhooks/{webhook}", Scope.EVERYTHING)
async def remove_webhook(office: Office, wish: WebhookReason, by: Actor) -> Changed:
    """Send nothing there any more, and forget what was sent."""
    await office.webhooks.remove(wish.webhook, actor=by.name)
    return Changed(True)


@act("POST", "/webhooks/{webhook}/rotate-secret", Scope.EVERYTHING)
async def rotate_webhook_secret(office: Office, wish: WebhookSecretWish, by: Actor) -> MadeWebhook:
    """Give it another secret, shown in the answer and nowhere else. For a day events are signed with both."""
    secret = _new_secret()
    record = await office.webhooks.rotate(wish.webhook, secret, FORMER_SECRET_LASTS, actor=by.name)
    return MadeWebhook(webhook=view_of(record), secret=secret)


@act("POST", "/webhooks/{webhook}/test", Scope.EVERYTHING)
async def try_webhook(office: Office, wish: WebhookWish, by: Actor) -> SentEvent:
    """Send it an event of the kind webhook.test. Its deliveries show what came of that."""
    return SentEvent(delivery=await office.webhooks.test(wish.webhook, actor=by.name))


@act("GET", "/webhooks/{webhook}/deliveries", Scope.READ)
async def list_webhook_deliveries(office: Office, wish: DeliveriesWish, by: Actor) -> Listed[DeliveryRecord]:
    """What was sent to it in the last 30 days, the newest first: attempts, last answer, next try."""
    rows = await office.webhooks.deliveries(wish.webhook, before_id=wish.after_row(), limit=wish.limit + 1)
    return listed(rows, wish.limit, lambda row: row.id)


@act("POST", "/deliveries/{delivery}/again", Scope.EVERYTHING)
async def deliver_again(office: Office, wish: DeliveryWish, by: Actor) -> Changed:
    """Deliver an event once more, at once, under the same id."""
    await office.webhooks.again(wish.delivery, actor=by.name)
    return Changed(True)


def view_of(record: WebhookRecord) -> WebhookView:
    return WebhookView(
        id=record.id,
        url=shown_url(record.url),
        note=record.note,
        kinds=record.kinds,
        is_on=record.disabled_at is None,
        off_because=record.disabled_because,
        failing_since=record.failing_since,
        waiting=record.waiting,
        former_secret_until=record.former_until,
        created_at=record.created_at,
        created_by=record.created_by,
    )


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))


def _names(kinds: Sequence[WebhookKind]) -> list[str]:
    return sorted({kind.value for kind in kinds})


def _note(text: str) -> str:
    return one_line(text.strip(), "A webhook's note")


ACTS = (
    list_webhooks,
    show_webhook,
    add_webhook,
    change_webhook,
    remove_webhook,
    rotate_webhook_secret,
    try_webhook,
    list_webhook_deliveries,
    deliver_again,
)
