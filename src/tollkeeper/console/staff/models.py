"""Models: what is offered, what it costs, who serves it, and within which limits.

Rules of this file
1. An id may have a slash in it, so it stands behind the question mark or in the form.
2. The form of a model shows all of its limits: what is sent is what holds from then on.
"""

import re
from collections.abc import Iterator
from typing import Any

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.groups import list_groups
from tollkeeper.office.lists import ROWS_MOST, Paging
from tollkeeper.office.models import (
    ModelView,
    ModelWish,
    add_model,
    change_model,
    hide_model,
    list_models,
    remove_model,
    show_model,
    unhide_model,
)
from tollkeeper.office.price_wishes import USD_NAMES
from tollkeeper.ports import NotOnFile

LIST, NEW, ONE = "/staff/models", "/staff/models/new", "/staff/models/one"
# `1792x1024 hd = 0.08`
_SIZE = re.compile(r"([^=:]+)[=:]\s*\$?\s*(\S+)")


async def show(visit: Visit) -> Response:
    page = await acted(visit, list_models)
    return visit.page(
        "models.html",
        rows=page.data if page else [],
        older=next_page(visit, LIST, page),
        kinds=list(Kind),
        groups=await group_names(visit),
        asked={name: visit.query.get(name, "") for name in ("kind", "hidden", "group")},
        may_change=has_scope(visit, Scope.CATALOG),
    )


async def new(visit: Visit) -> Response:
    return visit.page("model_new.html", kinds=list(Kind), groups=await group_names(visit))


async def add(visit: Visit) -> Response:
    usd = {name: text for name in USD_NAMES if (text := visit.form.text(f"usd_{name}"))}
    per_call = visit.form.text("per_call_usd")
    price: dict[str, Any] = {"usd": usd} | ({"parts": {"per_call_usd": per_call}} if per_call else {})
    try:
        sizes = list(_sizes(visit.form.text("sizes")))
    except ValueError as problem:
        visit.form.refuse("sizes", str(problem))
        return await new(visit)
    made = await acted(visit, add_model, price=price, sizes=sizes, only_groups=_only_groups(visit))
    if made is None:
        return await new(visit)
    if made.proposed or made.hint:
        return await _one(visit, made.model, proposals=made)
    return visit.go(ONE, model=made.model, done="model-added")


async def one(visit: Visit) -> Response:
    return await _one(visit, visit.query.get("model", "")[:128])


async def change(visit: Visit) -> Response:
    model = visit.form.text("model")
    voices = visit.form.text("voices")
    given: dict[str, Any] = {
        "only_groups": _only_groups(visit),
        "hidden_reasoning": visit.form.ticked("hidden_reasoning"),
    }
    if voices:
        given["voices"] = [voice for voice in re.split(r"[,\s]+", voices) if voice]
    done = await acted(visit, change_model, **given)
    return await _one(visit, model) if done is None else visit.go(ONE, model=model, done="model-changed")


async def hide(visit: Visit) -> Response:
    return await _by_reason(visit, hide_model, "model-hidden")


async def unhide(visit: Visit) -> Response:
    return await _by_reason(visit, unhide_model, "model-unhidden")


async def remove(visit: Visit) -> Response:
    done = await acted(visit, remove_model)
    if done is None:
        return await _one(visit, visit.form.text("model"))
    return visit.go(LIST, done="model-removed")


async def _by_reason(visit: Visit, act: Act[Any, Any], note: str) -> Response:
    model = visit.form.text("model")
    done = await acted(visit, act)
    return await _one(visit, model) if done is None else visit.go(ONE, model=model, done=note)


async def _one(visit: Visit, model_id: str, **more: Any) -> Response:
    if not model_id:
        raise NotOnFile("No model is named.")
    model = await show_model(visit.desks.office, ModelWish(model=model_id), visit.by)
    return visit.page(
        "model.html",
        model=model,
        limits=_limits(model),
        groups=await group_names(visit),
        may_change=has_scope(visit, Scope.CATALOG),
        **{"proposals": None, **more},
    )


def _limits(model: ModelView) -> list[tuple[str, str, int]]:
    """The fields of its form: name, label, and what holds now."""
    caps, media = model.token_caps, model.media
    tokens = [
        ("context_tokens", "Context, in tokens", caps.context_tokens),
        ("max_output_tokens", "The most it answers, in tokens", caps.max_output_tokens),
        ("hold_output_tokens", "Held for an answer without a maximum, in tokens", caps.hold_output_tokens),
        ("hold_part_tokens", "Held for each image, sound or file sent, in tokens", caps.hold_part_tokens),
    ]
    by_kind = {
        Kind.CHAT: tokens,
        Kind.EMBEDDING: tokens[:1],
        Kind.IMAGE: [("images_most", "Images of one call, at most", media.images_most)],
        Kind.SPEECH: [("characters_most", "Characters of one text, at most", media.characters_most)],
    }
    return by_kind.get(model.kind, [])


async def group_names(visit: Visit) -> list[str]:
    found = await list_groups(visit.desks.office, Paging(limit=ROWS_MOST), visit.by)
    return [group.name for group in found.data]


def _only_groups(visit: Visit) -> list[str] | None:
    """None: everybody."""
    return visit.form.every("only_groups") if visit.form.text("who") == "some" else None


def _sizes(text: str) -> Iterator[dict[str, str]]:
    for line in filter(None, map(str.strip, text.splitlines())):
        found = _SIZE.fullmatch(line)
        if found is None:
            raise ValueError(f"'{line}' is not the price of a size: write 1792x1024 hd = 0.08. Nothing was done.")
        yield {"variant": found[1].strip(), "usd": found[2]}


PAGES = (
    staff_get(LIST, show, Scope.READ),
    staff_get(NEW, new, Scope.CATALOG),
    staff_post(NEW, add, Scope.CATALOG),
    staff_get(ONE, one, Scope.READ),
    staff_post("/staff/models/change", change, Scope.CATALOG),
    staff_post("/staff/models/hide", hide, Scope.CATALOG),
    staff_post("/staff/models/unhide", unhide, Scope.CATALOG),
    staff_post("/staff/models/remove", remove, Scope.CATALOG),
)
