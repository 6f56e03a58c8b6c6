"""Quotes: what a call would cost. Nothing is sent, held or charged; it counts as a call like any other lookup.

The body is that of the call itself, which is a chat completion unless the member `endpoint` names another path.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from tollkeeper.core.calls.json_fields import decode, encode, read_fields
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.errors import InvalidParameter
from tollkeeper.core.limits.windows import LOOKUPS
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.money.forecast import Forecast, forecast
from tollkeeper.core.usage.receipt import UNITS
from tollkeeper.edge import shapes
from tollkeeper.edge.calls import JSON_BODY_BYTES_MOST, require_quota
from tollkeeper.edge.endpoints import Services, pass_gate
from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.relay.admit import admit
from tollkeeper.relay.operations import CHAT, EMBEDDING, IMAGE, MESSAGES, RESPONSES, SPEECH, Operation

CHAT_PATH = "/v1/chat/completions"
# Of whatever is asked for in JSON.
QUOTED: Mapping[str, Operation[Any, Any]] = {
    CHAT_PATH: CHAT,
    "/v1/messages": MESSAGES,
    "/v1/responses": RESPONSES,
    "/v1/embeddings": EMBEDDING,
    "/v1/images/generations": IMAGE,
    "/v1/audio/speech": SPEECH,
}


async def quote(exchange: Exchange, services: Services) -> Reply:
    relay = services.relay
    caller = await admit(exchange.authorization, exchange.client, relay.keys, relay.clock)
    exchange.called_by(caller)
    rates = (await relay.catalog.shelf()).rates_of(caller)
    relay.gate.reject_if_known_full(exchange, caller, rates, LOOKUPS)
    can_pay = partial(require_quota, exchange, services)
    kept = services.bodies.kept(exchange, limit_bytes=JSON_BODY_BYTES_MOST, can_pay=can_pay)
    try:
        came = await kept.read()
        path, body = await relay.aside.run(len(came), partial(_asked, came))
        operation = QUOTED[path]
        # Which headers go with an order of Messages does not change what it costs.
        order = await relay.aside.read(operation.read, Spoken(body) if operation is MESSAGES else body)
        shelf = await pass_gate(exchange, caller, services)
        offer = shelf.find(order, operation.kind, caller, relay.clock.now())
        ask = await operation.ask(order, offer, caller, relay.measures, True)
        order.forget_content()
    finally:
        kept.let_go()
    found = forecast(ask, offer.model.token_caps, offer.rate)
    return Reply(_shape(path, offer.model.id, operation.kind, ask.input_units, found))


def _asked(body: bytes) -> tuple[str, bytes]:
    """Which call is meant, and its body."""
    if b'"endpoint"' not in body:
        return CHAT_PATH, body
    fields = read_fields(body, ())
    path = decode(fields.pop("endpoint", msgspec.Raw(encode(CHAT_PATH))))
    if not isinstance(path, str) or path not in QUOTED:
        raise InvalidParameter("endpoint", f"must be one of {', '.join(QUOTED)}")
    return path, encode(fields)


def _shape(path: str, model_id: str, kind: Kind, input_units: int, found: Forecast) -> bytes:
    told: dict[str, object] = {
        "object": "quote",
        "endpoint": path,
        "model": model_id,
        "unit": UNITS.get(kind, "token"),
        "input": input_units,
        "output": {"likely": found.likely_output, "most": found.most_output},
        "least_usd": usd_exact(found.least),
        "likely_usd": usd_exact(found.likely),
        "most_usd": usd_exact(found.most),
        "held_usd": usd_exact(found.held),
    }
    return shapes.encode(told)
