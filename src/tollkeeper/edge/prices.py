"""The price book for everybody: a page and two feeds. No key is asked for, and nothing counts against a limit."""

from tollkeeper.edge.documents import answer
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.edge.refusals import SAFE_PAGE


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
    return answer(exchange, pages.documents[form], SAFE_PAGE, kept_seconds=pages.cache_seconds(now))
