"""The chat's pages: the playground, what it sends, and what each answer cost.

Rules of this file
1. The browser has no key. What it sends is bound to its session like every form, and the console asks the gateway.
2. What an answer cost is read from its receipt, and from nothing else.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import msgspec
from starlette.responses import JSONResponse, Response

from tollkeeper.accounts.chat import OpenedChatKey, open_chat_key
from tollkeeper.console.chat import order
from tollkeeper.console.chat.events import line
from tollkeeper.console.chat.line import LINES, SpokenResponse, spoken
from tollkeeper.console.chat.troubles import NOT_READ, trouble
from tollkeeper.console.figures import exact, usd_fine
from tollkeeper.console.forms import JSON_FIELD
from tollkeeper.console.money.prices import Figures, figures_of, price_usd
from tollkeeper.console.pages import get, post
from tollkeeper.console.usage.endings import SHORT
from tollkeeper.console.visit import Visit
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.prices import in_force
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import RunningCall

# How long a question for what a call cost waits for its receipt, how long a message waits for the call before it to be
# settled, and how often it is looked.
WAIT_SECONDS = 5.0
SETTLING_SECONDS = 1.5
LOOK_SECONDS = 0.1


class ChatModel(msgspec.Struct, frozen=True):
    id: str
    # For a million tokens.
    figures: Figures


async def show(visit: Visit) -> Response:
    models = await models_of(visit)
    asked = visit.query.get("model", "")
    return visit.page(
        "chat.html",
        models=models,
        chosen=next((model.id for model in models if model.id == asked), models[0].id if models else ""),
        price=price_usd,
        most=order,
        can_pay=await _can_pay(visit),
    )


async def _can_pay(visit: Visit) -> bool:
    """Whether there is quota for any key: the chat has a key of its own, which no lot is bound to."""
    now = visit.desks.now()
    lots = await visit.desks.lots.of_account(visit.account_id)
    return any(lot.key_id is None and lot.remaining > 0 and lot.expires_at > now for lot in lots)


async def models_of(visit: Visit) -> Sequence[ChatModel]:
    """Models that this account may talk to, with what they cost it."""
    group = visit.wallet.group if visit.wallet else ""
    shelf, now = await visit.desks.catalog.shelf(), visit.desks.now()
    multiplier = shelf.groups.get(group)
    found = []
    for model in shelf.models.values():
        price = in_force(model.prices, now, "")
        is_open = model.only_groups is None or group in model.only_groups
        if model.kind is Kind.CHAT and is_open and price is not None and multiplier is not None:
            found.append(ChatModel(model.id, figures_of(Kind.CHAT, price, multiplier)))
    return found


async def send(visit: Visit) -> Response:
    wish = order.read_wish(visit.form.exactly(JSON_FIELD))
    if wish is None:
        return Response(line(trouble=trouble(visit, NOT_READ)), 422, media_type=LINES)
    opened = await _key_of(visit)
    return SpokenResponse(spoken(visit, wish.body, opened.key, is_busy=opened.is_busy))


async def _key_of(visit: Visit) -> OpenedChatKey:
    """With a little patience for an answer that ended a moment ago, and is not settled yet. Raise SessionOver."""
    until = asyncio.get_running_loop().time() + SETTLING_SECONDS
    while True:
        opened = await open_chat_key(visit.session, visit.token, visit.desks.chat)
        if not opened.is_busy or asyncio.get_running_loop().time() >= until:
            return opened
        await asyncio.sleep(LOOK_SECONDS)


async def show_cost(visit: Visit) -> Response:
    """What one call cost. A call that there is not, or another's, is told like one for which nothing was held."""
    try:
        request_id = UUID(visit.request.path_params["request_id"])
    except ValueError:
        return JSONResponse({"state": "none"})
    found = await _receipt(visit, request_id)
    if found is None:
        return JSONResponse({"state": "none"})
    if isinstance(found, RunningCall):
        return JSONResponse({"state": "running"})
    return JSONResponse(
        {
            "state": "settled",
            "usd": usd_fine(found.charged) if found.charged else visit.gettext("Nothing was charged."),
            "exact": exact(found.charged),
            "ended": visit.gettext(SHORT[found.ending]),
            "href": f"/usage/{request_id}",
        }
    )


async def _receipt(visit: Visit, request_id: UUID) -> Receipt | RunningCall | None:
    """Once it is settled; after a while, as it is."""
    loop = asyncio.get_running_loop()
    until = loop.time() + WAIT_SECONDS
    while True:
        found = await visit.desks.receipts.find(request_id, account_id=visit.account_id)
        if not isinstance(found, RunningCall) or loop.time() >= until:
            return found
        await asyncio.sleep(LOOK_SECONDS)


PAGES = (
    get("/chat", show),
    post("/chat", send, bytes_most=order.BODY_BYTES_MOST),
    get("/chat/calls/{request_id}", show_cost),
)
