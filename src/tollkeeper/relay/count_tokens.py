"""How many tokens an order comes to, without an answer: free, and a call like any other to the rate limits.

Rules of this file
1. A provider that speaks the order's dialect counts best. Where none does, or none says soon, our own count is told.
   What the model could not read is sent to nobody.
2. Nothing is held or charged. It takes a seat at a provider account as any call does; but what it meets there says
   little about the account's health, for some that speak the dialect have no such address: only that nobody is there,
   or that the key is refused, is noted.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.dialects.messages.order import read_count
from tollkeeper.relay.admit import admit
from tollkeeper.relay.call import IncomingRequest
from tollkeeper.relay.pipeline import Relay

# In all, for every account that is asked.
PROVIDERS_SECONDS = 10.0


async def count_tokens(request: IncomingRequest, read_body: Callable[[], Awaitable[Spoken]], relay: Relay) -> int:
    """The count of what is sent. Raise what stands against the call."""
    caller = await admit(request.authorization, request.client, relay.keys, relay.clock)  # 401 403
    request.called_by(caller)
    rates = (await relay.catalog.shelf()).rates_of(caller)
    relay.gate.reject_if_known_full(request, caller, rates, Kind.CHAT)  # 429
    order = await relay.aside.read(read_count, await read_body())  # 400 413
    shelf = await relay.catalog.shelf()
    offer = shelf.find(order, Kind.CHAT, caller, relay.clock.now())  # 400 404
    place = await relay.gate.enter(request, caller, rates, Kind.CHAT, offer.model.id)  # 429
    try:
        caps = offer.model.token_caps
        part_tokens = caps.hold_part_tokens
        counted = await relay.measures.counter.count(order, owner=caller.account_id, part_tokens=part_tokens)
        if counted - order.media_parts * part_tokens > caps.context_tokens:
            return counted
        try:
            async with asyncio.timeout(PROVIDERS_SECONDS):
                reported = await relay.dispatcher.count(order, request.request_id, caller.account_id)
        except TimeoutError:
            reported = None
        return counted if reported is None else reported
    finally:
        order.forget_content()
        relay.gate.leave(place, 0)
