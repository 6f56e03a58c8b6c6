"""Receipts by key: a call is shown to the key that made it, and to nobody else.

Rules of this file
1. A call of another key, of another account, and one that never was, are told alike.
2. What a call cost us, and which provider accounts were tried, is not the caller's affair.
"""

from uuid import UUID

from tollkeeper.core.errors import CallNotFound
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.core.usage.receipt_lines import lines_of
from tollkeeper.edge import shapes
from tollkeeper.edge.endpoints import Services, caller_without_body, pass_gate
from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.ports import RunningCall

PATH = "/v2/calls/"


async def show(exchange: Exchange, services: Services) -> Reply:
    caller = await caller_without_body(exchange, services)
    await pass_gate(exchange, caller, services)
    found = await services.receipts.find(_id_in(exchange.path), account_id=caller.account_id)
    if found is None or found.key_id != caller.key_id:
        raise CallNotFound
    return Reply(shapes.encode(_running(found) if isinstance(found, RunningCall) else _settled(found)))


def _id_in(path: str) -> UUID:
    try:
        return UUID(path.removeprefix(PATH))
    except ValueError:
        raise CallNotFound from None


def _running(call: RunningCall) -> dict[str, object]:
    return {
        "id": str(call.request_id),
        "object": "call",
        "state": "running",
        "started_at": call.started_at,
        "held_usd": usd_exact(call.held),
        "charged_usd": None,
    }


def _settled(receipt: Receipt) -> dict[str, object]:
    usage = receipt.usage
    return {
        "id": str(receipt.request_id),
        "object": "call",
        "state": "settled",
        "model": receipt.rate.price.model_id,
        "kind": receipt.kind,
        "ending": receipt.ending,
        "explanation": receipt.explanation.strip(),
        "started_at": receipt.started_at,
        "settled_at": receipt.settled_at,
        "usage": {"input": usage.input_units, "cached": usage.cached_units, "output": usage.output_units},
        "lines": [] if not receipt.charged else list(lines_of(receipt.rate, usage)),
        "formula": receipt.formula,
        "held_usd": usd_exact(receipt.held),
        "charged_usd": receipt.charged_usd,
        # What the usage costs beyond what was charged: ours.
        "written_off_usd": usd_exact(receipt.written_off),
    }
