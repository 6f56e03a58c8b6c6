"""Every public route, in one table."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.errors import MethodNotAllowed
from tollkeeper.edge import billing, call_receipts, calls, endpoints, prices, quotes
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http.exchange import Exchange, Reply, Sent
from tollkeeper.edge.pages import balance, front
from tollkeeper.edge.refusals import ANTHROPIC, CURRENT, DEPRECATED, FORM_PAGE, LISTED, PUBLIC_PAGE, UNKNOWN, Style
from tollkeeper.edge.signposts import endpoint_not_found

Endpoint = Callable[[Exchange, Services], Awaitable[Reply | Sent]]

API = frozenset({Address.MAIN, Address.BACKUP, Address.AGENT})
BILLING = frozenset({Address.BILLING})
# Not on those of resellers, who have front pages of their own.
PEOPLE = frozenset({Address.MAIN, Address.BACKUP, Address.BILLING})
EVERYWHERE = frozenset(Address)
# Where Anthropic's SDKs ask for more than there is.
MESSAGES = "/v1/messages/"


class Route(msgspec.Struct, frozen=True):
    """One that ends in a name in braces is for all paths that begin so and go on."""

    method: str
    path: str
    on: frozenset[Address]
    endpoint: Endpoint
    style: Style = CURRENT


def published(path: str, on: frozenset[Address], endpoint: Endpoint, style: Style = PUBLIC_PAGE) -> tuple[Route, Route]:
    """What everybody may read."""
    return Route("GET", path, on, endpoint, style), Route("HEAD", path, on, endpoint, style)


ROUTES = (
    Route("POST", "/v1/chat/completions", API, calls.chat_completions),
    Route("POST", "/v1/messages", API, calls.messages, ANTHROPIC),
    Route("POST", "/v1/messages/count_tokens", API, calls.message_tokens, ANTHROPIC),
    Route("POST", "/v1/responses", API, calls.responses),
    Route("POST", "/v1/embeddings", API, calls.embeddings),
    Route("POST", "/v1/images/generations", API, calls.image_generations),
    Route("POST", "/v1/images/edits", API, calls.image_edits),
    Route("POST", "/v1/audio/speech", API, calls.speech),
    Route("POST", "/v1/audio/transcriptions", API, calls.transcriptions),
    Route("POST", "/v1/audio/translations", API, calls.translations),
    Route("GET", "/v1/models", API, endpoints.models, LISTED),
    Route("GET", "/v1/models/{model}", API, endpoints.model, LISTED),
    Route("GET", "/v1/dashboard/billing/subscription", API, billing.subscription),
    Route("GET", "/v1/dashboard/billing/usage", API, billing.usage),
    # Clients whose base address has no /v1 ask for them so.
    Route("GET", "/dashboard/billing/subscription", API, billing.subscription),
    Route("GET", "/dashboard/billing/usage", API, billing.usage),
    Route("GET", "/v2/account/balance", API, endpoints.account_balance),
    Route("GET", "/v2/token/balance", API, endpoints.key_balance),
    Route("POST", "/v2/quote", API, quotes.quote),
    Route("GET", f"{call_receipts.PATH}{{id}}", API, call_receipts.show),
    *published("/prices", API, prices.page, CURRENT),
    *published("/prices.json", API, prices.json_feed, CURRENT),
    *published("/prices.atom", API, prices.atom_feed, CURRENT),
    Route("POST", "/api/token", BILLING, endpoints.deprecated_balance, DEPRECATED),
    Route("POST", "/api/v1/token", BILLING, endpoints.deprecated_balance, DEPRECATED),
    *published("/", PEOPLE, front.front_page),
    *published("/en", PEOPLE, front.front_page),
    *published("/zh", PEOPLE, front.front_page),
    *published("/balance", BILLING, front.balance_form, FORM_PAGE),
    *published("/en/balance", BILLING, front.balance_form, FORM_PAGE),
    *published("/zh/balance", BILLING, front.balance_form, FORM_PAGE),
    Route("POST", "/balance", BILLING, balance.look_up, FORM_PAGE),
    Route("POST", "/en/balance", BILLING, balance.look_up, FORM_PAGE),
    Route("POST", "/zh/balance", BILLING, balance.look_up, FORM_PAGE),
    *published("/pages.css", EVERYWHERE, front.asset),
    *published("/favicon.ico", EVERYWHERE, front.asset),
    *published("/robots.txt", EVERYWHERE, front.asset),
)


class RouteTable:
    """Finds the route of a request on an address."""

    def __init__(self, routes: Iterable[Route], book: AddressBook) -> None:
        self._by_address: Mapping[Address, dict[str, dict[str, Route]]] = {address: {} for address in Address}
        self._styles: dict[tuple[Address, str], Style] = {}
        self._paths: set[str] = set()
        # How the paths of those begin that end in a name in braces.
        self._beginnings: dict[str, str] = {}
        for route in routes:
            self._paths.add(route.path)
            if route.path.endswith("}"):
                self._beginnings[route.path.partition("{")[0]] = route.path
            for address in _served_on(route, book):
                self._by_address[address].setdefault(route.path, {})[route.method] = route
                self._styles.setdefault((address, route.path), route.style)

    def find(self, address: Address, path: str, method: str) -> Route:
        here = self._by_address[address]
        methods = here.get(path) or here.get(self.name(path) or "")
        if methods is None:
            raise endpoint_not_found(method, path, here, self._paths)
        route = methods.get(method)
        if route is None:
            raise MethodNotAllowed(tuple(methods))
        return route

    def name(self, path: str) -> str | None:
        """The path of the route that a request's path is of, on any address; None where it is no route's."""
        if path in self._paths:
            return path
        for beginning, name in self._beginnings.items():
            if path.startswith(beginning) and len(path) > len(beginning):
                return name
        return None

    def style(self, address: Address, path: str) -> Style:
        """In which style a refusal is worded there, even where no route was found."""
        found = self._styles.get((address, path)) or self._styles.get((address, self.name(path) or ""))
        if found is None:
            return ANTHROPIC if path.startswith(MESSAGES) else UNKNOWN
        return found


def _served_on(route: Route, book: AddressBook) -> frozenset[Address]:
    """A small operator has one host name: without a billing address, main serves its routes."""
    if Address.BILLING in route.on and not book.has_billing:
        return route.on | {Address.MAIN}
    return route.on
