"""Webhooks: `webhook add`, `list`, `show`, `change`, `on`, `off`, `rotate-secret`, `test`, `deliveries`, `again`,
`remove`."""

from typing import Annotated

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_fields, show_json, show_list
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.speak import say
from tollkeeper.core.webhooks import WebhookKind
from tollkeeper.office.webhooks import (
    DeliveriesWish,
    DeliveryWish,
    MadeWebhook,
    NewWebhookWish,
    WebhookChangeWish,
    WebhookReason,
    WebhookSecretWish,
    WebhookView,
    WebhookWish,
    add_webhook,
    change_webhook,
    deliver_again,
    list_webhook_deliveries,
    list_webhooks,
    remove_webhook,
    rotate_webhook_secret,
    show_webhook,
    try_webhook,
)
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.webhooks import DeliveryRecord

webhook_app = typer.Typer(help="Webhooks: addresses that are told of events.", no_args_is_help=True)

FIELDS = (
    *("id", "url", "note", "kinds", "is_on", "off_because", "failing_since", "waiting", "former_secret_until"),
    *("created_at", "created_by"),
)
DELIVERY_FIELDS = (
    *("id", "event_id", "kind", "at", "attempts", "last_try_at", "last_status", "last_error", "next_try_at"),
    *("delivered_at", "given_up_at"),
)
Number = Annotated[int, typer.Argument(metavar="WEBHOOK", min=1, max=MOST_ID, help="Its number.")]
KindOptions = Annotated[
    list[WebhookKind] | None, typer.Option("--kind", help="A kind of event it is told of; repeat it.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(webhook_app, name="webhook")


@webhook_app.command("add")
@command(ValueError)
async def add(
    url: Annotated[str, typer.Argument(help="Where events are sent: https://host/path")],
    kind: KindOptions = None,
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    reason: MaybeReason = "",
) -> None:
    """Send events to an address. The secret that signs them is shown once, now. Without --kind: of every kind."""
    wish = NewWebhookWish(url=url, kinds=kind or None, note=note, reason=reason)
    _show_secret(await perform(add_webhook, wish))


@webhook_app.command("list")
@command()
async def list_all(as_json: AsJson = False) -> None:
    """Every webhook, and whether its receiver takes what it is sent."""
    show_list(
        (await perform(list_webhooks, NoWish())).data,
        head=("webhook", "address", "state", "waiting", "told of", "note"),
        line=lambda each: (
            str(each.id),
            each.url,
            _state(each),
            str(each.waiting),
            ", ".join(each.kinds),
            each.note,
        ),
        record=lambda each: fields_of(each, *FIELDS),
        as_json=as_json,
        none="There are no webhooks.",
    )


@webhook_app.command("show")
@command()
async def show(webhook: Number, as_json: AsJson = False) -> None:
    """One webhook, and whether its receiver takes what it is sent."""
    found = await perform(show_webhook, WebhookWish(webhook=webhook))
    if as_json:
        show_json(fields_of(found, *FIELDS))
        return
    show_fields(
        [
            ("webhook", str(found.id)),
            ("address", found.url),
            ("state", _state(found)),
            ("waiting", str(found.waiting)),
            ("told of", ", ".join(found.kinds)),
            ("note", found.note),
            ("made", f"{moment(found.created_at)} by {found.created_by}"),
        ]
    )


@webhook_app.command("change")
@command(ValueError)
async def change(
    webhook: Number,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    kind: KindOptions = None,
    note: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    reason: MaybeReason = "",
) -> None:
    """Change where it sends to, what it is told of, or its note."""
    wish = WebhookChangeWish(webhook=webhook, url=url, kinds=kind or None, note=note, reason=reason)
    changed = await perform(change_webhook, wish)
    say(f"webhook {webhook} sends to {changed.url}: {', '.join(changed.kinds)}")


@webhook_app.command("on")
@command(ValueError)
async def switch_on(webhook: Number, reason: MaybeReason = "") -> None:
    """Send events to it again."""
    done = await perform(change_webhook, WebhookChangeWish(webhook=webhook, is_on=True, reason=reason))
    say(f"webhook {webhook} is {_state(done)}")


@webhook_app.command("off")
@command(ValueError)
async def switch_off(webhook: Number, reason: MaybeReason = "") -> None:
    """Send nothing to it until it is switched on. Events of that time are not kept for it."""
    done = await perform(change_webhook, WebhookChangeWish(webhook=webhook, is_on=False, reason=reason))
    say(f"webhook {webhook} is {_state(done)}")


@webhook_app.command("rotate-secret")
@command(ValueError)
async def rotate_secret(webhook: Number, reason: MaybeReason = "") -> None:
    """Give it another secret, shown once, now. For a day events are signed with both."""
    _show_secret(await perform(rotate_webhook_secret, WebhookSecretWish(webhook=webhook, reason=reason)))


@webhook_app.command("test")
@command(ValueError)
async def test(webhook: Number) -> None:
    """Send it an event of the kind webhook.test."""
    sent = await perform(try_webhook, WebhookWish(webhook=webhook))
    say(f"delivery {sent.delivery} is on its way; what came of it: tollkeeper webhook deliveries {webhook}")


@webhook_app.command("deliveries")
@command()
async def deliveries(webhook: Number, as_json: AsJson = False) -> None:
    """What was sent to it in the last 30 days, the newest first."""
    show_list(
        await every_page(list_webhook_deliveries, DeliveriesWish(webhook=webhook)),
        head=("delivery", "event", "at", "attempts", "state", "last answer"),
        line=lambda each: (
            str(each.id),
            each.kind,
            moment(each.at),
            str(each.attempts),
            _delivery_state(each),
            each.last_error or ("" if each.last_status is None else str(each.last_status)),
        ),
        record=lambda each: fields_of(each, *DELIVERY_FIELDS),
        as_json=as_json,
        none="Nothing was sent to it.",
    )


@webhook_app.command("again")
@command(ValueError)
async def again(
    delivery: Annotated[int, typer.Argument(metavar="DELIVERY", min=1, max=MOST_ID, help="Its number.")],
) -> None:
    """Deliver an event once more, at once, under the same id."""
    await perform(deliver_again, DeliveryWish(delivery=delivery))
    say(f"delivery {delivery} is on its way once more")


@webhook_app.command("remove")
@command(ValueError)
async def remove(webhook: Number, reason: Reason) -> None:
    """Send nothing there any more, and forget what was sent."""
    await perform(remove_webhook, WebhookReason(webhook=webhook, reason=reason))
    say(f"webhook {webhook} is removed")


def _show_secret(made: MadeWebhook) -> None:
    say(f"webhook {made.webhook.id} sends to {made.webhook.url}\n{made.secret}")
    say("Copy the secret now: it cannot be shown again. Receivers check signatures with it (standardwebhooks.com).")


def _state(webhook: WebhookView) -> str:
    if not webhook.is_on:
        return f"off: {webhook.off_because}"
    return "on" if webhook.failing_since is None else f"failing since {moment(webhook.failing_since)}"


def _delivery_state(delivery: DeliveryRecord) -> str:
    if delivery.delivered_at is not None:
        return f"taken at {moment(delivery.delivered_at)}"
    if delivery.next_try_at is None:
        return "given up"
    return f"next try at {moment(delivery.next_try_at)}"
