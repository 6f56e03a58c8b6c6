"""Groups: by how much prices are multiplied for their accounts, and what these may call in a minute.

Rules of this file
1. The form of a group shows all that it has: an empty limit is none, and a model that is not named has no own rate.
"""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.money.amounts import plain_decimal
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.groups import (
    GroupTermsView,
    GroupView,
    GroupWish,
    change_group,
    create_group,
    list_groups,
    remove_group,
    show_group,
)
from tollkeeper.ports import NotOnFile

LIST, NEW, ONE = "/staff/groups", "/staff/groups/new", "/staff/groups/one"
LIMITS: Mapping[str, str] = {
    "key_rate": "Calls of one key",
    "standard_rate": "Calls of one kind of model",
    "tokens_per_minute": "Tokens",
    "concurrency": "Calls at once",
}


async def show(visit: Visit) -> Response:
    page = await acted(visit, list_groups)
    return visit.page(
        "groups.html",
        rows=page.data if page else [],
        older=next_page(visit, LIST, page),
        may_change=has_scope(visit, Scope.CATALOG),
    )


async def new(visit: Visit) -> Response:
    rates = Rates()
    limits = {name: getattr(rates, name) for name in LIMITS}
    return _form(visit, None, limits, {"peak_percent": str(rates.peak_percent), "multiplier": "1"})


async def add(visit: Visit) -> Response:
    given = _given(visit, {})
    made = None if given is None else await acted(visit, create_group, **given)
    return await new(visit) if made is None else visit.go(ONE, group=made.name, done="group-added")


async def one(visit: Visit) -> Response:
    return await _one(visit, visit.query.get("group", "")[:64])


async def change(visit: Visit) -> Response:
    name = visit.form.text("group")
    group = await _found(visit, name)
    given = _given(visit, group.model_rates)
    if given is not None and plain_decimal(visit.form.text("multiplier")) == plain_decimal(group.multiplier):
        given["multiplier"] = None
    done = None if given is None else await acted(visit, change_group, **given)
    return await _one(visit, name) if done is None else visit.go(ONE, group=name, done="group-changed")


async def remove(visit: Visit) -> Response:
    done = await acted(visit, remove_group)
    if done is None:
        return await _one(visit, visit.form.text("group"))
    return visit.go(LIST, done="group-removed")


async def _found(visit: Visit, name: str) -> GroupView:
    if not 1 <= len(name) <= 64:
        raise NotOnFile("There is no such group.")
    return await show_group(visit.desks.office, GroupWish(group=name), visit.by)


async def _one(visit: Visit, name: str) -> Response:
    group = await _found(visit, name)
    limits = {each: getattr(group, each) for each in LIMITS}
    texts = {
        "multiplier": multiplier_text(group),
        "peak_percent": str(group.peak_percent),
        "model_rates": "\n".join(f"{model} = {rate}" for model, rate in group.model_rates.items()),
    }
    texts |= {f"kind_{kind}": str(rate) for kind, rate in group.kind_rates.items()}
    return _form(visit, group, limits, texts)


def _form(
    visit: Visit, group: GroupView | None, limits: Mapping[str, int | None], texts: Mapping[str, str]
) -> Response:
    # The page has another form, too, which says nothing of these.
    is_sent = bool(visit.form.every("multiplier"))
    shown = {**{name: "" if limit is None else str(limit) for name, limit in limits.items()}, **texts}
    names = (*LIMITS, "peak_percent", "multiplier", "model_rates", *(f"kind_{kind}" for kind in Kind))
    return visit.page(
        "group.html",
        group=group,
        labels=LIMITS,
        kinds=list(Kind),
        values={name: visit.form.text(name) if is_sent else shown.get(name, "") for name in names},
        may_change=has_scope(visit, Scope.CATALOG),
    )


def _given(visit: Visit, had: Mapping[str, int]) -> dict[str, Any] | None:
    """All that the form says; None where a line of it cannot be read."""
    models: dict[str, Any] = dict.fromkeys(had)
    for line in filter(None, map(str.strip, visit.form.text("model_rates").splitlines())):
        model, equals, rate = line.rpartition("=")
        if not equals or not rate.strip().isdecimal():
            visit.form.refuse("model_rates", f"'{line}' is not a rate: write gpt-5-mini = 30. Nothing was done.")
            return None
        models[model.strip()] = int(rate)
    kinds = {kind.value: visit.form.text(f"kind_{kind}") or None for kind in Kind}
    limits = {name: visit.form.text(name) or None for name in LIMITS}
    return {**limits, "kind_rates": kinds, "model_rates": models}


def multiplier_text(group: GroupTermsView) -> str:
    """`0.800000` → `0.8`."""
    return group.multiplier.rstrip("0").rstrip(".") if "." in group.multiplier else group.multiplier


PAGES = (
    staff_get(LIST, show, Scope.READ),
    staff_get(NEW, new, Scope.CATALOG),
    staff_post(NEW, add, Scope.CATALOG),
    staff_get(ONE, one, Scope.READ),
    staff_post("/staff/groups/change", change, Scope.CATALOG),
    staff_post("/staff/groups/remove", remove, Scope.CATALOG),
)
