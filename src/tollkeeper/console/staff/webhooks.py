"""Webhooks: where events are sent, what came of each delivery, and the secret, once."""

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.webhooks import EVENT_WORDS
from tollkeeper.office.lists import Listed
from tollkeeper.office.webhooks import (
    DeliveriesWish,
    MadeWebhook,
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

PLACE = "/staff/webhooks"
ONE = "/staff/webhooks/{webhook:int}"


async def show_all(visit: Visit) -> Response:
    found = await list_webhooks(visit.desks.office, NoWish(), visit.by)
    return visit.page("webhooks.html", webhooks=found.data, may_change=has_scope(visit, Scope.EVERYTHING))


async def ask_for_new(visit: Visit) -> Response:
    return visit.page("webhook_new.html", kinds=EVENT_WORDS, chosen=visit.form.every("kinds") or list(EVENT_WORDS))


async def add(visit: Visit) -> Response:
    made = await acted(visit, add_webhook, kinds=visit.form.every("kinds"))
    return await ask_for_new(visit) if made is None else _secret(visit, made)


async def show(visit: Visit) -> Response:
    """Also after a form that was refused."""
    office = visit.desks.office
    webhook = await show_webhook(office, WebhookWish(webhook=_number(visit)), visit.by)
    page: Listed[DeliveryRecord] | None
    if visit.request.method == "GET":
        page = await acted(visit, list_webhook_deliveries, webhook=webhook.id)
    else:
        page = await list_webhook_deliveries(office, DeliveriesWish(webhook=webhook.id), visit.by)
    return visit.page(
        "webhook.html",
        webhook=webhook,
        rows=page.data if page else [],
        older=next_page(visit, f"{PLACE}/{webhook.id}", page),
        kinds=EVENT_WORDS,
        may_change=has_scope(visit, Scope.EVERYTHING),
    )


async def change(visit: Visit) -> Response:
    given = {"kinds": visit.form.every("kinds"), "note": visit.form.text("note")}
    done = await acted(visit, change_webhook, webhook=_number(visit), **given)
    return await show(visit) if done is None else visit.go(f"{PLACE}/{done.id}", done="done")


async def switch(visit: Visit) -> Response:
    is_on = visit.form.text("is_on") == "true"
    done = await acted(visit, change_webhook, webhook=_number(visit), url=None, kinds=None, note=None, is_on=is_on)
    return await show(visit) if done is None else visit.go(f"{PLACE}/{done.id}", done="done")


async def rotate(visit: Visit) -> Response:
    made = await acted(visit, rotate_webhook_secret, webhook=_number(visit))
    return await show(visit) if made is None else _secret(visit, made)


async def test(visit: Visit) -> Response:
    done = await acted(visit, try_webhook, webhook=_number(visit))
    return await show(visit) if done is None else visit.go(f"{PLACE}/{_number(visit)}", done="webhook-tested")


async def again(visit: Visit) -> Response:
    done = await acted(visit, deliver_again, delivery=visit.request.path_params["delivery"])
    return await show(visit) if done is None else visit.go(f"{PLACE}/{_number(visit)}", done="webhook-again")


async def remove(visit: Visit) -> Response:
    done = await acted(visit, remove_webhook, webhook=_number(visit))
    return await show(visit) if done is None else visit.go(PLACE, done="webhook-removed")


def _secret(visit: Visit, made: MadeWebhook) -> Response:
    """The answer to the form itself: it is shown nowhere else."""
    return visit.page("webhook_secret.html", webhook=made.webhook, secret=made.secret)


def _number(visit: Visit) -> int:
    number: int = visit.request.path_params["webhook"]
    return number


PAGES = (
    staff_get(PLACE, show_all, Scope.READ),
    staff_get(f"{PLACE}/new", ask_for_new, Scope.EVERYTHING),
    staff_post(f"{PLACE}/new", add, Scope.EVERYTHING),
    staff_get(ONE, show, Scope.READ),
    staff_post(f"{ONE}/change", change, Scope.EVERYTHING),
    staff_post(f"{ONE}/switch", switch, Scope.EVERYTHING),
    staff_post(f"{ONE}/rotate-secret", rotate, Scope.EVERYTHING),
    staff_post(f"{ONE}/test", test, Scope.EVERYTHING),
    staff_post(f"{ONE}/deliveries/{{delivery:int}}/again", again, Scope.EVERYTHING),
    staff_post(f"{ONE}/remove", remove, Scope.EVERYTHING),
)
