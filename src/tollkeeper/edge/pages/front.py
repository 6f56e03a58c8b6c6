"""What the gateway shows to everybody: the front page, its style sheet, its icon, and what robots may read."""

from tollkeeper.core.addresses import Address
from tollkeeper.edge.documents import answer
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.edge.pages.pages import language_of
from tollkeeper.server.application import Header

PAGE_KEPT_SECONDS = 300
ASSET_KEPT_SECONDS = 3_600
BY_LANGUAGE: tuple[Header, ...] = ((b"vary", b"accept-language"),)


async def front_page(exchange: Exchange, services: Services) -> Reply:
    """The balance form on the billing address, which is for nothing else."""
    services.bodies.refuse(exchange)
    pages = services.pages
    made = pages.balance_form if exchange.address is Address.BILLING else pages.front
    return answer(exchange, made[language_of(exchange)], BY_LANGUAGE, kept_seconds=PAGE_KEPT_SECONDS)


async def balance_form(exchange: Exchange, services: Services) -> Reply:
    services.bodies.refuse(exchange)
    made = services.pages.balance_form[language_of(exchange)]
    return answer(exchange, made, BY_LANGUAGE, kept_seconds=PAGE_KEPT_SECONDS)


async def asset(exchange: Exchange, services: Services) -> Reply:
    services.bodies.refuse(exchange)
    return answer(exchange, services.pages.assets[exchange.path], (), kept_seconds=ASSET_KEPT_SECONDS)
