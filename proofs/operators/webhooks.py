"""Webhooks: every kind of event arrives, signed, while two other receivers are dead and silent."""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from proofs.rig.checks import Check
from proofs.rig.console.calling import called
from proofs.rig.console.place import Person, Place
from proofs.rig.patience import came_true
from tollkeeper.core.webhooks import WebhookKind
from tollkeeper.office.customer_keys import NewKeyWish, ShownKey, create_customer_key
from tollkeeper.office.desks import Office
from tollkeeper.office.webhooks import (
    NewWebhookWish,
    WebhookReason,
    WebhookWish,
    add_webhook,
    remove_webhook,
    try_webhook,
)

ARRIVES_WITHIN_SECONDS = 90.0
# A round begins every two seconds, and one that is under way looks every half second.
DELAY_MOST_SECONDS = 5.0
TESTS = 5

SETTLED = "select from usage where account_id = $1"
NEAR_BUDGET = """
update api_key set daily_budget = ceil(day_total / 0.9) from key_books
where key_id = id and account_id = $1 returning id
"""

Event = tuple[str, float]


class Ear:
    """A receiver: verifies what comes with the library that receivers have, and notes when it came."""

    def __init__(self, stack: ExitStack) -> None:
        self.secret = ""
        self.events: list[Event] = []
        self.unsigned = 0
        ear = self

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                ear.take(self.rfile.read(int(self.headers["content-length"])), dict(self.headers.items()))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
        stack.callback(self._server.shutdown)
        Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        try:
            self.events.append((Webhook(self.secret).verify(body, headers)["type"], time.monotonic()))
        except WebhookVerificationError:
            self.unsigned += 1

    def heard(self, kind: str) -> int:
        return sum(each == kind for each, _ in self.events)


def webhooks_hold(place: Place) -> list[Check]:
    with ExitStack() as stack:
        ear = Ear(stack)
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        addresses = (ear.url, f"http://127.0.0.1:{silent.getsockname()[1]}/", "http://127.0.0.1:1/")
        numbers = [_add(place, ear, url) for url in addresses]
        try:
            checks = [*_every_kind(place, ear), _delays(place, ear, numbers)]
        finally:
            for number in numbers:
                _remove(place, number)
    return [*checks, Check("every event is signed", ear.unsigned == 0, f"{ear.unsigned} were not")]


def _add(place: Place, ear: Ear, url: str) -> int:
    async def add(desk: Office) -> tuple[int, str]:
        made = await add_webhook(desk, NewWebhookWish(url=url), desk.operator)
        return made.webhook.id, made.secret

    number, secret = place.operate(add)
    ear.secret = ear.secret or secret
    return number


def _remove(place: Place, number: int) -> None:
    async def remove(desk: Office) -> None:
        await remove_webhook(desk, WebhookReason(webhook=number, reason="the proof is over"), desk.operator)

    place.operate(remove)


def _every_kind(place: Place, ear: Ear) -> list[Check]:
    person = place.a_person(usd=1, name="Eve")
    checks = []
    for kind, happens in HAPPENINGS.items():
        happens(place, person)
        came = came_true(lambda kind=kind: ear.heard(kind) > 0, within_seconds=ARRIVES_WITHIN_SECONDS)  # type: ignore[misc]
        checks.append(Check(f"{kind} arrives once", came and ear.heard(kind) == 1, f"{ear.heard(kind)} times"))
    return checks


def _delays(place: Place, ear: Ear, numbers: list[int]) -> Check:
    """The silent one takes fifteen seconds for each attempt; the lively one must not notice."""

    async def test(desk: Office) -> None:
        for number in numbers:
            await try_webhook(desk, WebhookWish(webhook=number), desk.operator)

    longest = 0.0
    for count in range(1, TESTS + 1):
        begun = time.monotonic()
        place.operate(test)
        with suppress(TimeoutError):
            came_true(lambda count=count: ear.heard("webhook.test") >= count, within_seconds=60)  # type: ignore[misc]
        longest = max(longest, time.monotonic() - begun)
    came = ear.heard("webhook.test") == TESTS
    told = f"{ear.heard('webhook.test')} of {TESTS}, {longest:.1f} s at most"
    return Check("dead receivers delay nobody", came and longest <= DELAY_MOST_SECONDS, told, timed=came)


def _by_sql(*statements: str) -> Callable[[Place, Person], None]:
    """As the parts of the service do it, by its stored functions; then it is undone, where others need it so."""

    def happen(place: Place, person: Person) -> None:
        for sql in statements:
            place.rows(sql, *([person.account_id] if "$1" in sql else []))

    return happen


def _near_budget(place: Place, _: Person) -> None:
    """A key that was used gets a budget of which 90 % are used."""
    caller = place.a_person(usd=1, name="Carl")

    async def make(desk: Office) -> ShownKey:
        return await create_customer_key(
            desk, NewKeyWish(account=caller.account_id, name="near", reason="a proof"), desk.operator
        )

    key = place.operate(make)
    called(place, key.text)
    # A call is settled after its answer; until then all of its hold counts toward the budget.
    came_true(lambda: bool(place.rows(SETTLED, caller.account_id)), within_seconds=ARRIVES_WITHIN_SECONDS)
    place.rows(NEAR_BUDGET, caller.account_id)


HAPPENINGS: dict[WebhookKind, Callable[[Place, Person], None]] = {
    WebhookKind.RESTRICTED: _by_sql("select restrict_account($1, 60, 600, 3600, '192.0.2.99')"),
    WebhookKind.BANNED: _by_sql("select ban_ip('192.0.2.99', 1, 'peak', '{}', $1, '')"),
    WebhookKind.BALANCE_LOW: _by_sql(
        "insert into notice (account_id, kind, subject, balance) values ($1, 'low_balance', 1, 17)"
    ),
    WebhookKind.PROVIDER_OUT: _by_sql(
        "select suspend_provider_account((select min(id) from provider_account), 'the key was refused')",
        "select lift_suspension((select min(id) from provider_account), 'a proof')",
    ),
    WebhookKind.BOOKS_NOT_CLEAN: _by_sql(
        "update job set judged_at = ledger_now(), judged_well = true where name = 'check_books'",
        "update job set judged_at = ledger_now() + interval '1 s', judged_well = false where name = 'check_books'",
        "update job set judged_at = ledger_now() + interval '2 s', judged_well = true where name = 'check_books'",
    ),
    WebhookKind.PRICE_ANNOUNCED: _by_sql(
        "select verdict from enter_price((select min(model_id) from price where variant = ''), '', 2, null, null,"
        " ledger_now() + interval '90 days', interval '30 days', null, 'a proof')"
    ),
    WebhookKind.DISABLED: _by_sql("update account set disabled_at = ledger_now() where id = $1"),
    WebhookKind.BUDGET_NEAR: _near_budget,
}
