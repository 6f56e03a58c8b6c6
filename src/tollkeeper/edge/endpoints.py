"""The endpoints: each reads an exchange, asks the relay's rooms, and returns a reply."""

from collections.abc import Callable
from urllib.parse import unquote
from uuid import UUID

import msgspec

from tollkeeper.core.catalog.models import Shelf
from tollkeeper.core.errors import MissingParameter, ModelNotFound
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.limits.windows import LOOKUPS
from tollkeeper.core.money import balance
from tollkeeper.edge import shapes
from tollkeeper.edge.http.body import BodyReader, decode_json
from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.edge.pages.pages import GatewayPages
from tollkeeper.edge.price_pages import PricePages
from tollkeeper.edge.refusals import speaks_messages
from tollkeeper.ports import Balances, Receipts
from tollkeeper.ports.refused import NoteRefused
from tollkeeper.ports.usage import UsageLog
from tollkeeper.relay.admit import admit, admit_key
from tollkeeper.relay.ended import EndedCall
from tollkeeper.relay.pipeline import Relay

# A key and its JSON around it; nothing larger belongs into the deprecated endpoint.
KEY_BODY_BYTES = 4096
MODELS = "/v1/models/"


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What the endpoints work with. Built once, in `tollkeeper.app`."""

    relay: Relay
    balances: Balances
    usage: UsageLog
    receipts: Receipts
    prices: PricePages
    pages: GatewayPages
    bodies: BodyReader
    # By the time of the database, in Unix milliseconds.
    new_request_id: Callable[[int], UUID]
    owned_by: str
    keep_alive_seconds: float
    loop_mark: str
    # Who tells others of calls that are over, if anybody does.
    on_ended: Callable[[EndedCall], None] | None = None
    # Who keeps, for support, why calls of known keys were refused.
    on_refused: NoteRefused | None = None


class KeyBody(msgspec.Struct):
    api_key: str | None = None


async def models(exchange: Exchange, services: Services) -> Reply:
    caller = await caller_without_body(exchange, services)
    shelf = await pass_gate(exchange, caller, services)
    usable = shelf.usable(caller, services.relay.clock.now())
    if speaks_messages(exchange):
        return Reply(shapes.messages_model_list(usable))
    return Reply(shapes.model_list(usable, services.owned_by))


async def model(exchange: Exchange, services: Services) -> Reply:
    """One of them, by its id: all that follows in the path, slashes and colons included."""
    caller = await caller_without_body(exchange, services)
    shelf = await pass_gate(exchange, caller, services)
    wanted = unquote(exchange.path.removeprefix(MODELS), errors="replace")
    found = [model for model in shelf.usable(caller, services.relay.clock.now()) if model.id == wanted]
    if not found:
        raise ModelNotFound(wanted)
    if speaks_messages(exchange):
        return Reply(shapes.one_messages_model(found[0]))
    return Reply(shapes.one_model(found[0], services.owned_by))


async def account_balance(exchange: Exchange, services: Services) -> Reply:
    caller = await caller_without_body(exchange, services)
    await pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    return Reply(shapes.balance("account", balance.of_account(standing), _unix_seconds(services)))


async def key_balance(exchange: Exchange, services: Services) -> Reply:
    caller = await caller_without_body(exchange, services)
    await pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    return Reply(shapes.balance("token", balance.of_key(standing), _unix_seconds(services)))


async def deprecated_balance(exchange: Exchange, services: Services) -> Reply:
    """The older balance lookup: the key stands in the body, the answer speaks of that key."""
    body = await services.bodies.read(exchange, limit_bytes=KEY_BODY_BYTES)
    caller = await admit_key(_key_in(body), exchange.client, services.relay.keys, services.relay.clock)
    exchange.called_by(caller)
    await pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    return Reply(shapes.deprecated_balance(balance.of_key(standing)))


async def caller_without_body(exchange: Exchange, services: Services) -> KeyRecord:
    relay = services.relay
    caller = await admit(exchange.authorization, exchange.client, relay.keys, relay.clock)
    exchange.called_by(caller)
    services.bodies.refuse(exchange)
    return caller


async def pass_gate(exchange: Exchange, caller: KeyRecord, services: Services) -> Shelf:
    """Raise RateLimited where the caller looks things up too often."""
    shelf, gate = await services.relay.catalog.shelf(), services.relay.gate
    rates = shelf.rates_of(caller)
    gate.reject_if_known_full(exchange, caller, rates, LOOKUPS)
    await gate.enter(exchange, caller, rates, LOOKUPS)
    return shelf


def _key_in(body: bytes) -> str:
    key = decode_json(body, KeyBody).api_key
    if not key:
        raise MissingParameter("api_key")
    return key


def _unix_seconds(services: Services) -> int:
    return int(services.relay.clock.now().timestamp())
