"""How long the server takes for each page, warm, among a crowd of customers."""

import asyncio
import statistics
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol

import msgspec

from proofs.rig.console.crowd import A_MODEL, Measured, gather
from proofs.rig.console.place import PlainConsole
from proofs.rig.console.residents import address, parameters
from proofs.rig.console.wire import SESSION_COOKIE, Wire
from proofs.rig.database import fresh_database, migrated
from proofs.rig.proof import say
from tollkeeper.console.pages import Who
from tollkeeper.console.table import PAGES

WARM_UP = 2
P95_MS_MOST = 150.0
# Nothing of the crowd's has these: their pages are the ones that say so, and are measured with the journeys.
NOT_OF_THE_CROWD = {"top_up_id", "passkey_id"}
STREAMED = (".csv",)
# Pages of a brand that the crowd's service does not have.
LEGAL = ("/legal/imprint", "/legal/terms", "/legal/privacy")
# Where it is not 200: an invitation leads on, and a link without its token is told to be over.
STATUSES = {"/i/{gift_code}": 303, "/verify": 422, "/security/email/confirm": 422, **dict.fromkeys(LEGAL, 404)}


class Crowd(msgspec.Struct, frozen=True):
    rows: int
    customers: int
    # How often each page is asked for by each customer who is measured.
    times: int


class Hand(Protocol):
    def __call__(self, work: Coroutine[Any, Any, Any], /) -> Any: ...


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """An address as it is asked for, and what has to come back."""

    path: str
    status: int = 200
    # Strangers' pages are asked for without a session.
    signed_in: bool = True
    headers: Mapping[str, str] = {}
    # What is posted to it; empty: it is asked for.
    body: str = ""


def p95_of_every_page(stack: ExitStack, settings: Mapping[str, str], crowd: Crowd, wait_for: Hand) -> dict[str, float]:
    """By path, in milliseconds; the console and its database are the crowd's own."""
    url, customers = wait_for(gathered(settings["TOLLKEEPER_DATABASE_URL"], crowd))
    say(f"pages of customers with {', '.join(f'{each.calls:,}' for each in customers)} calls this month")
    console = stack.enter_context(PlainConsole(dict(settings) | {"TOLLKEEPER_DATABASE_URL": url}))
    measure = partial(waits_of, console.port, settings["TOLLKEEPER_CONSOLE_URL"], times=crowd.times)
    waits: dict[str, list[float]] = {}
    for customer in customers:
        for name, asking in askings(customer).items():
            waits.setdefault(name, []).extend(measure(customer.session, asking))
    return told_p95(waits)


def told_p95(waits: Mapping[str, list[float]]) -> dict[str, float]:
    """By name, each said."""
    found = {name: p95(each) for name, each in waits.items()}
    for name, each in waits.items():
        say(f"{name}: p50 {statistics.median(each):.1f} ms, p95 {found[name]:.1f} ms")
    return found


def askings(customer: Measured) -> dict[str, Asking]:
    """Every page of the table, and usage by its filters."""
    ids = {
        "key_id": str(customer.account_id),
        "request_id": customer.request_id,
        "gift_code": "AAAAA",
        "model_id": A_MODEL,
    }
    pages = [page for page in PAGES if page.method == "GET" and not set(parameters(page)) & NOT_OF_THE_CROWD]
    found = {
        page.path: Asking(
            path=address(page, ids),
            status=STATUSES.get(page.path, 200),
            signed_in=page.who not in (Who.STRANGER, Who.ANYBODY),
        )
        for page in pages
    }
    return found | {f"/usage, {name}": Asking(path=f"/usage?{query}") for name, query in _filters(customer)}


def _filters(customer: Measured) -> Iterator[tuple[str, str]]:
    today = datetime.now(UTC).date()
    yield "by model", f"model={A_MODEL}"
    yield "by key", f"key={customer.account_id}"
    yield "90 days", f"from={today - timedelta(days=89)}&to={today}"
    yield "by model and key, 90 days", f"from={today - timedelta(days=89)}&model={A_MODEL}&key={customer.account_id}"
    yield "not completed", "ending=not_completed"
    yield "next page", f"after={customer.request_id}"


async def gathered(cluster_url: str, crowd: Crowd) -> tuple[str, list[Measured]]:
    url = await fresh_database(cluster_url, "crowd")
    await asyncio.to_thread(migrated, url)
    return url, await gather(url, rows=crowd.rows, customers=crowd.customers)


def waits_of(port: int, origin: str, session: str, asking: Asking, *, times: int) -> list[float]:
    """Milliseconds, warm."""
    wire = Wire(port, origin, "10.0.0.1")
    if asking.signed_in:
        wire.cookies[SESSION_COOKIE] = session
    waits = []
    for _ in range(WARM_UP + times):
        begun = time.perf_counter()
        status = _status(wire, asking)
        waits.append((time.perf_counter() - begun) * 1000)
        assert status == asking.status, (asking.path, status)
    return waits[WARM_UP:]


def _status(wire: Wire, asking: Asking) -> int:
    if asking.body:
        return wire.ask("POST", asking.path, asking.body, asking.headers).status
    if asking.path.endswith(STREAMED):
        return wire.first_byte(asking.path)
    return wire.get(asking.path, asking.headers).status


def p95(waits: list[float]) -> float:
    return sorted(waits)[int(len(waits) * 0.95)]
