"""The price book for everybody: a page and two feeds. No key is asked for, and nothing counts against a limit."""

from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.exchange import Exchange, Header, Reply
from tollkeeper.edge.price_pages import POLICY

TYPES = {
    "html": b"text/html; charset=utf-8",
    "json": b"application/feed+json; charset=utf-8",
    "atom": b"application/atom+xml; charset=utf-8",
}
SAFE: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


async def page(exchange: Exchange, services: Services) -> Reply:
    return await _document("html", exchange, services)


async def json_feed(exchange: Exchange, services: Services) -> Reply:
    return await _document("json", exchange, services)


async def atom_feed(exchange: Exchange, services: Services) -> Reply:
    return await _document("atom", exchange, services)


async def _document(form: str, exchange: Exchange, services: Services) -> Reply:
    services.bodies.refuse(exchange)
    now = services.relay.clock.now()
    pages = await services.prices.at(now)
    document, caching = pages.documents[form], b"public, max-age=%d" % pages.cache_seconds(now)
    headers = ((b"etag", document.etag.encode()), *SAFE)
    if _has(exchange.header(b"if-none-match"), document.etag):
        return Reply(b"", 304, headers, caching)
    return Reply(document.body, 200, ((b"content-type", TYPES[form]), *headers), caching)


def _has(if_none_match: str | None, etag: str) -> bool:
    """Whether the client has this very document already."""
    named = (if_none_match or "").split(",")
    return any(each.strip().removeprefix("W/") in {etag, "*"} for each in named)
