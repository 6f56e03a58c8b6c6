"""Every route: public with a reason, or shown to pass authentication, limits and size checks.

The lists are checked against the route table: a new route fails here until it is on one of them.
"""

import json
from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.attacks.raw import say
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.app.office import office
from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.limits.windows import Rates
from tollkeeper.edge.refusals import DEPRECATED, FORM_PAGE
from tollkeeper.edge.respond import HEALTH_PATHS, PREFLIGHTED
from tollkeeper.edge.routes import ROUTES, Route, RouteTable
from tollkeeper.settings import load
from tools.front import BEHIND_A_FRONT
from tools.node import Node
from tools.services.process import wait_until

PUBLISHED = "prices are published, with what everybody may cache"
SHOWN = "people read it in a browser before they have a key; it is the same for everybody"
PROBED = "balancers ask, and have no key; it answers with the state of the process alone"
PREFLIGHT = "browsers send no key with a preflight; it answers the same to everybody"
PUBLIC = {
    ("GET", "/prices"): PUBLISHED,
    ("GET", "/prices.json"): PUBLISHED,
    ("GET", "/prices.atom"): PUBLISHED,
    ("HEAD", "/prices"): PUBLISHED,
    ("HEAD", "/prices.json"): PUBLISHED,
    ("HEAD", "/prices.atom"): PUBLISHED,
    **{
        (method, path): SHOWN
        for method in ("GET", "HEAD")
        for path in ("/", "/en", "/zh", "/balance", "/en/balance", "/zh/balance")
    },
    **{(method, path): SHOWN for method in ("GET", "HEAD") for path in ("/pages.css", "/favicon.ico", "/robots.txt")},
    ("GET", "/livez"): PROBED,
    ("HEAD", "/livez"): PROBED,
    ("GET", "/readyz"): PROBED,
    ("HEAD", "/readyz"): PROBED,
    ("OPTIONS", "/v1/"): PREFLIGHT,
    ("OPTIONS", "/v2/"): PREFLIGHT,
    ("OPTIONS", "/dashboard/"): PREFLIGHT,
}
# Those that need a key, and the status for a body of `TOO_LARGE_BYTES`: none is taken at all where it is 400.
KEYED = {
    ("POST", "/v1/chat/completions"): 413,
    ("POST", "/v1/embeddings"): 413,
    ("POST", "/v1/messages"): 413,
    ("POST", "/v1/messages/count_tokens"): 413,
    ("POST", "/v1/responses"): 413,
    ("POST", "/v1/images/generations"): 413,
    ("POST", "/v1/images/edits"): 413,
    ("POST", "/v1/audio/speech"): 413,
    ("POST", "/v1/audio/transcriptions"): 413,
    ("POST", "/v1/audio/translations"): 413,
    ("GET", "/v1/models"): 400,
    ("GET", "/v1/models/{model}"): 400,
    ("GET", "/v1/dashboard/billing/subscription"): 400,
    ("GET", "/v1/dashboard/billing/usage"): 400,
    ("GET", "/dashboard/billing/subscription"): 400,
    ("GET", "/dashboard/billing/usage"): 400,
    ("GET", "/v2/account/balance"): 400,
    ("GET", "/v2/token/balance"): 400,
    ("POST", "/v2/quote"): 413,
    ("GET", "/v2/calls/{id}"): 400,
    ("POST", "/api/token"): 413,
    ("POST", "/api/v1/token"): 413,
    ("POST", "/balance"): 413,
    ("POST", "/en/balance"): 413,
    ("POST", "/zh/balance"): 413,
}
TOO_LARGE_BYTES = 64 * 1024 * 1024
# Answered before anything is known of the caller.
UNGUARDED = {(method, path) for method, path in PUBLIC if path in HEALTH_PATHS}
BANNED_IP = "198.51.100.44"
UNKNOWN_KEY = "sk-a" + "x" * 48


def each(names: Iterable[tuple[str, str]]) -> pytest.MarkDecorator:
    """A test for each route."""
    return pytest.mark.parametrize(("method", "path"), [pytest.param(*name, id=" ".join(name)) for name in names])


keyed = each(KEYED)
public = each(PUBLIC)
guarded = each(name for name in [*KEYED, *PUBLIC] if name not in UNGUARDED)


class Village:
    def __init__(self, node: Node, customers: Customers) -> None:
        self.node = node
        self.customers = customers

    async def a_customer_of_one_call(self) -> Customer:
        group = f"group-{uuid4().hex[:8]}"
        await self.customers.desk.groups.add(group, Rates(key_rate=1), actor=ACTOR)
        customer = await self.customers.a_customer(group=group)
        wait_until(lambda: self.is_known(customer), within_seconds=40)
        return customer

    def is_known(self, customer: Customer) -> bool:
        """Without a call that counts."""
        return ask(self.node, "/v1/nothing", key=customer.key).status == 404


@pytest.fixture(scope="module")
async def village(stores: Stores) -> AsyncIterator[Village]:
    settings = await variables(stores) | BEHIND_A_FRONT
    async with office(load(settings)) as desk:
        with Node(settings) as node:
            wait_until(lambda: json.loads(ask(node, "/readyz").text)["redis"] == "ok", within_seconds=60)
            await desk.abuse.ban(BANNED_IP, 3_600, "a test", actor=ACTOR)
            yield Village(node, Customers(desk))


def called(node: Node, method: str, path: str, key: str | None, ip: str = "192.0.2.1") -> Answer:
    """The key where that route wants it."""
    body: object = {"api_key": key} if path.startswith("/api/") else {"model": "m"}
    if path.endswith("/balance") and method == "POST":
        body = urlencode({"api_key": key or ""}).encode()
    headers = {"X-Forwarded-For": ip, "Content-Type": "application/json"}
    return ask(node, path, method=method, key=key, headers=headers, body=body if method == "POST" else None)


def test_every_route_is_on_one_of_the_lists() -> None:
    there_are = {(route.method, route.path) for route in ROUTES}
    there_are |= {(method, path) for method in ("GET", "HEAD") for path in HEALTH_PATHS}
    there_are |= {("OPTIONS", beginning) for beginning in PREFLIGHTED}
    assert there_are == KEYED.keys() | PUBLIC.keys()
    assert not KEYED.keys() & PUBLIC.keys()
    assert all(PUBLIC.values())


@keyed
@pytest.mark.parametrize(
    "key", [None, UNKNOWN_KEY, "sk-", "x", "' or 1=1 --"], ids=["none", "unknown", "short", "odd", "sql"]
)
async def test_without_a_known_key_it_is_401(village: Village, method: str, path: str, key: str | None) -> None:
    answer = called(village.node, method, path, key)
    style = route_of(method, path).style
    if style is FORM_PAGE:
        # A form tells it beside its field.
        assert answer.status == 422
    elif style is not DEPRECATED:
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    elif key is None:
        assert answer.status == 400
    else:
        # Older clients look for this instead of a status.
        assert (answer.status, answer.json["Status"]) == (200, 0)
    assert answer.headers["cache-control"] == "no-store"


@keyed
async def test_beyond_its_limit_it_is_429(village: Village, method: str, path: str) -> None:
    customer = await village.a_customer_of_one_call()
    wait_until(lambda: called(village.node, method, path, customer.key).status == 429, within_seconds=20)


@keyed
async def test_a_body_that_is_too_large_is_refused_unread(village: Village, method: str, path: str) -> None:
    customer = await village.customers.a_customer()
    wait_until(lambda: village.is_known(customer), within_seconds=40)
    form = (
        "multipart/form-data; boundary=x"
        if path.startswith(("/v1/audio/trans", "/v1/images/edits"))
        else "application/json"
    )
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {customer.key}\r\n"
        f"Content-Type: {form}\r\nExpect: 100-continue\r\nContent-Length: {TOO_LARGE_BYTES}\r\n\r\n"
    )
    assert say(village.node.port, head.encode(), patience_seconds=5).statuses == [KEYED[method, path]]


@guarded
async def test_a_banned_ip_is_refused_everywhere(village: Village, method: str, path: str) -> None:
    wait_until(lambda: called(village.node, method, path, None, BANNED_IP).status == 403, within_seconds=20)
    assert called(village.node, method, path, None).status != 403


@public
async def test_what_is_public_answers_without_a_key_and_takes_no_body(village: Village, method: str, path: str) -> None:
    assert called(village.node, method, path, None).status in {200, 204}
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {TOO_LARGE_BYTES}\r\n\r\n"
    # Whether it closes then is not asked: where the rest of a body was waited for, the server keeps the connection for
    # as long as a reader of it is still there. Such a connection has no call, and goes when places are short (`crowd`).
    heard = say(village.node.port, head.encode(), patience_seconds=5)
    assert len(heard.statuses) == 1
    assert heard.statuses[0] < 500


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
async def test_no_other_method_is_taken(village: Village, path: str) -> None:
    taken = {route.method for route in ROUTES if route.path == path}
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"} - taken:
        assert called(village.node, method, path, None).status == 405, method


def route_of(method: str, path: str) -> Route:
    return RouteTable(ROUTES, AddressBook({})).find(Address.MAIN, path, method)
