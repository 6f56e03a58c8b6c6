"""Every public route, in one table."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.errors import EndpointNotFound, GatewayError, MethodNotAllowed, Unauthorized
from tollkeeper.edge import calls, endpoints, prices, shapes
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.exchange import ANY_ORIGIN, Exchange, Header, Reply, Sent

Endpoint = Callable[[Exchange, Services], Awaitable[Reply | Sent]]

API = frozenset({Address.MAIN, Address.BACKUP, Address.AGENT})
BILLING = frozenset({Address.BILLING})


class Style(msgspec.Struct, frozen=True):
    """How a family of endpoints words its refusals, and the headers on all its answers."""

    error: Callable[[GatewayError], bytes]
    status: Callable[[GatewayError], int]
    headers: tuple[Header, ...]


CURRENT = Style(shapes.error, lambda refusal: refusal.status, ANY_ORIGIN)
# The older clients look at Status in the body, so a key that is not accepted is still HTTP 200.
DEPRECATED = Style(
    shapes.deprecated_error,
    lambda refusal: 200 if isinstance(refusal, Unauthorized) else refusal.status,
    (
        # Since when, as RFC 9745 writes it: 1 January 2026.
        (b"deprecation", b"@1767225600"),
        (
            b"link",
            b'</v2/token/balance>; rel="successor-version", </v2/account/balance>; rel="successor-version"',
        ),
    ),
)


class Route(msgspec.Struct, frozen=True):
    method: str
    path: str
    on: frozenset[Address]
    endpoint: Endpoint
    style: Style = CURRENT


ROUTES = (
    Route("POST", "/v1/chat/completions", API, calls.chat_completions),
    Route("POST", "/v1/images/generations", API, calls.image_generations),
    Route("POST", "/v1/audio/speech", API, calls.speech),
    Route("POST", "/v1/audio/transcriptions", API, calls.transcriptions),
    Route("POST", "/v1/audio/translations", API, calls.translations),
    Route("GET", "/v1/models", API, endpoints.models),
    Route("GET", "/v2/account/balance", API, endpoints.account_balance),
    Route("GET", "/v2/token/balance", API, endpoints.key_balance),
    Route("GET", "/prices", API, prices.page),
    Route("GET", "/prices.json", API, prices.json_feed),
    Route("GET", "/prices.atom", API, prices.atom_feed),
    Route("HEAD", "/prices", API, prices.page),
    Route("HEAD", "/prices.json", API, prices.json_feed),
    Route("HEAD", "/prices.atom", API, prices.atom_feed),
    Route("POST", "/api/token", BILLING, endpoints.deprecated_balance, DEPRECATED),
    Route("POST", "/api/v1/token", BILLING, endpoints.deprecated_balance, DEPRECATED),
)


class RouteTable:
    """Finds the route of a request on an address."""

    def __init__(self, routes: Iterable[Route], book: AddressBook) -> None:
        self._by_address: Mapping[Address, dict[str, dict[str, Route]]] = {address: {} for address in Address}
        self._styles: dict[tuple[Address, str], Style] = {}
        self._paths: set[str] = set()
        for route in routes:
            self._paths.add(route.path)
            for address in _served_on(route, book):
                self._by_address[address].setdefault(route.path, {})[route.method] = route
                self._styles.setdefault((address, route.path), route.style)

    def find(self, address: Address, path: str, method: str) -> Route:
        methods = self._by_address[address].get(path)
        if methods is None:
            raise EndpointNotFound
        route = methods.get(method)
        if route is None:
            raise MethodNotAllowed(tuple(methods))
        return route

    def has(self, path: str) -> bool:
        """Whether it is a route's, on any address."""
        return path in self._paths

    def style(self, address: Address, path: str) -> Style:
        """In which style a refusal is worded there, even where no route was found."""
        return self._styles.get((address, path), CURRENT)


def _served_on(route: Route, book: AddressBook) -> frozenset[Address]:
    """A small operator has one host name: without a billing address, main serves its routes."""
    if Address.BILLING in route.on and not book.has_billing:
        return route.on | {Address.MAIN}
    return route.on
