"""Prices: what holds, what is announced and what held; and a change, looked at over real calls before it is announced.

Rules of this file
1. Prices are typed and shown in USD. What would have to be rounded is refused, with the nearest prices that are exact.
2. A preview changes nothing, and its form can be sent on as it is.
3. Tiers and tools are rows of the form, with empty ones behind them; one whose length or name is emptied ends.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.price_usd import NONE
from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.staff.price_rows import changed_tiers, changed_tools, tier_rows, tool_rows
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.models import ModelWish, show_model
from tollkeeper.office.price_form import PriceForm, PriceFormWish, show_price_form
from tollkeeper.office.price_views import EffectView, PriceView
from tollkeeper.office.prices import (
    DAYS_MOST,
    PricesWish,
    enter_price,
    list_price_history,
    list_prices,
    preview_price,
    withdraw_price,
)
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.catalog.prices import PriceTime

LIST, OF_MODEL, CHANGE = "/staff/prices", "/staff/prices/model", "/staff/prices/change"
COMING_MOST = 100
TIMES: Mapping[PriceTime, str] = {
    PriceTime.IN_FORCE: "In force",
    PriceTime.COMING: "Coming",
    PriceTime.PAST: "Past",
}
LOCAL_TIME_LENGTH = len("2026-12-31T18:00")


class PreviewLine(msgspec.Struct, frozen=True):
    effect: EffectView
    change: str


async def show(visit: Visit) -> Response:
    times = {each.value: each for each in TIMES}
    time = times.get(visit.query.get("time", ""), PriceTime.IN_FORCE)
    page = await acted(visit, list_prices, time=time)
    coming = await list_prices(visit.desks.office, PricesWish(time=PriceTime.COMING, limit=COMING_MOST), visit.by)
    return visit.page(
        "prices.html",
        rows=page.data if page else [],
        older=next_page(visit, LIST, page),
        time=time,
        times=TIMES,
        coming=coming.data,
        in_force=[row.price_id for row in page.data] if page and time is PriceTime.IN_FORCE else [],
        may_change=has_scope(visit, Scope.CATALOG),
    )


async def of_model(visit: Visit) -> Response:
    if not visit.query.get("model"):
        raise NotOnFile("No model is named.")
    page = await acted(visit, list_price_history)
    model = await show_model(visit.desks.office, ModelWish(model=visit.query["model"][:128]), visit.by)
    now = {(price.variant, price.effective_from) for price in model.prices}
    return visit.page(
        "prices_of.html",
        model=model.id,
        rows=page.data if page else [],
        older=next_page(visit, OF_MODEL, page),
        in_force=_holding(page.data, now) if page else [],
        may_change=has_scope(visit, Scope.CATALOG) and model.hidden_at is None,
    )


def _holding(rows: Sequence[PriceView], now: Collection[tuple[str, datetime]]) -> list[int]:
    return [row.price_id for row in rows if row.withdrawn_at is None and (row.variant, row.effective_from) in now]


async def change(visit: Visit) -> Response:
    form = await _form_of(visit, visit.query.get("model", ""), visit.query.get("variant", ""))
    return await _change_page(visit, form)


async def preview(visit: Visit) -> Response:
    form = await _form_of(visit, visit.form.text("model"), visit.form.text("variant"))
    found = await acted(visit, preview_price, **_wished(visit, form))
    return await _change_page(visit, form, preview=found, lines=_lines(found))


async def announce(visit: Visit) -> Response:
    form = await _form_of(visit, visit.form.text("model"), visit.form.text("variant"))
    reason = visit.form.text("forced_because")
    given = _wished(visit, form) | {"forced_because": reason or None}
    done = await acted(visit, enter_price, **given)
    if done is None:
        return await _change_page(visit, form)
    return visit.go(OF_MODEL, model=form.model, done="price-announced")


async def withdraw(visit: Visit) -> Response:
    done = await acted(visit, withdraw_price, price=visit.request.path_params["price"])
    return await show(visit) if done is None else visit.go(LIST, done="price-withdrawn")


async def _form_of(visit: Visit, model: str, variant: str) -> PriceForm:
    """Raise NotOnFile."""
    if not model or len(model) > 128 or len(variant) > 60:
        raise NotOnFile("There is no such price.")
    return await show_price_form(visit.desks.office, PriceFormWish(model=model, variant=variant), visit.by)


async def _change_page(visit: Visit, form: PriceForm, **more: Any) -> Response:
    return visit.page(
        "price_change.html",
        asked=form,
        days_most=DAYS_MOST,
        tiers=tier_rows(visit.form, form, is_sent=visit.request.method == "POST"),
        tools=tool_rows(visit.form, form, is_sent=visit.request.method == "POST"),
        is_sent=visit.request.method == "POST",
        **{"preview": None, "lines": [], **more},
    )


def _wished(visit: Visit, form: PriceForm) -> dict[str, Any]:
    """What is another price than now, so that the rest stays to the last digit."""
    sent = {field.name: visit.form.text(f"usd_{field.name}") for field in form.fields}
    usd: dict[str, Any] = {name: sent[name] or NONE for name, now in _now(form) if sent[name] != now}
    tiers, tools = changed_tiers(visit.form, form), changed_tools(visit.form, form)
    if tiers:
        usd["tiers"] = tiers
    parts: dict[str, Any] = {"tools_usd": tools} if tools else {}
    per_call = visit.form.text("per_call_usd")
    if per_call != form.per_call_usd:
        parts["per_call_usd"] = per_call or None
    found: dict[str, Any] = {"usd": usd} | ({"parts": parts} if parts else {})
    at = visit.form.text("effective_from")
    if at:
        found["effective_from"] = in_utc(at)
    return found


def _now(form: PriceForm) -> list[tuple[str, str]]:
    return [(field.name, field.usd) for field in form.fields]


def in_utc(text: str) -> str:
    """A browser's `2026-12-31T18:00`, as an instant."""
    if len(text) == LOCAL_TIME_LENGTH:
        return f"{text}:00Z"
    return text if text.endswith("Z") or "+" in text else f"{text}Z"


def _lines(found: Any) -> list[PreviewLine]:
    return [] if found is None else [PreviewLine(each, percent(each)) for each in (found.total, *found.accounts)]


def percent(effect: EffectView) -> str:
    """`+12.5 %`; a dash where there is nothing to compare with."""
    old, new = effect.old.micro_quota, effect.new.micro_quota
    if not old:
        return "–"
    return f"{Decimal(100 * (new - old)) / old:+.1f} %"


PAGES = (
    staff_get(LIST, show, Scope.READ),
    staff_get(OF_MODEL, of_model, Scope.READ),
    staff_get(CHANGE, change, Scope.CATALOG),
    staff_post(CHANGE, announce, Scope.CATALOG),
    staff_post("/staff/prices/preview", preview, Scope.CATALOG),
    staff_post("/staff/prices/{price:int}/withdraw", withdraw, Scope.CATALOG),
)
