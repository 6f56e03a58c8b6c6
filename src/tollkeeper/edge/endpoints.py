"""The endpoints: each reads an exchange, asks the relay's rooms, and returns a reply."""

import msgspec

from tollkeeper.core import balance
from tollkeeper.core.catalog import Shelf
from tollkeeper.core.errors import MissingParameter
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits import LOOKUPS
from tollkeeper.edge import shapes
from tollkeeper.edge.body import BodyReader, decode_json
from tollkeeper.edge.exchange import Exchange, Reply
from tollkeeper.edge.price_pages import PricePages
from tollkeeper.ports import Balances
from tollkeeper.relay.admit import admit, admit_key
from tollkeeper.relay.pipeline import Relay

# A key and its JSON around it; nothing larger belongs into the deprecated endpoint.
KEY_BODY_BYTES = 4096


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What the endpoints work with. Built once, in `tollkeeper.app`."""

    relay: Relay
    balances: Balances
    prices: PricePages
    bodies: BodyReader
    owned_by: str
    keep_alive_seconds: float
    loop_mark: str


class KeyBody(msgspec.Struct):
    api_key: str | None = None


async def models(exchange: Exchange, services: Services) -> Reply:
    caller = await _caller_without_body(exchange, services)
    shelf = await _pass_gate(exchange, caller, services)
    return Reply(shapes.model_list(shelf.usable(caller, services.relay.clock.now()), services.owned_by))


async def account_balance(exchange: Exchange, services: Services) -> Reply:
    caller = await _caller_without_body(exchange, services)
    await _pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    return Reply(shapes.balance("account", balance.of_account(standing), _unix_seconds(services)))


async def key_balance(exchange: Exchange, services: Services) -> Reply:
    caller = await _caller_without_body(exchange, services)
    await _pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    return Reply(shapes.balance("token", balance.of_key(standing), _unix_seconds(services)))


async def deprecated_balance(exchange: Exchange, services: Services) -> Reply:
    """The older balance lookup: the key stands in the body, the answer speaks of that key."""
    body = await services.bodies.read(exchange, limit_bytes=KEY_BODY_BYTES)
    caller = await admit_key(_key_in(body), exchange.client, services.relay.keys, services.relay.clock)
    exchange.called_by(caller)
    await _pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    return Reply(shapes.deprecated_balance(balance.of_key(standing)))


async def _caller_without_body(exchange: Exchange, services: Services) -> KeyRecord:
    relay = services.relay
    caller = await admit(exchange.header(b"authorization"), exchange.client, relay.keys, relay.clock)
    exchange.called_by(caller)
    services.bodies.refuse(exchange)
    return caller


async def _pass_gate(exchange: Exchange, caller: KeyRecord, services: Services) -> Shelf:
    """Raise RateLimited where the caller looks things up too often."""
    shelf, gate = await services.relay.catalog.shelf(), services.relay.gate
    rates = shelf.rates_of(caller)
    gate.refuse_early(exchange, caller, rates, LOOKUPS)
    await gate.enter(exchange, caller, rates, LOOKUPS)
    return shelf


def _key_in(body: bytes) -> str:
    key = decode_json(body, KeyBody).api_key
    if not key:
        raise MissingParameter("api_key")
    return key


def _unix_seconds(services: Services) -> int:
    return int(services.relay.clock.now().timestamp())
