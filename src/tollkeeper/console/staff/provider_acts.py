"""What is done with provider accounts: added, changed, tested, paused, given another key, removed.

Rules of this file
1. A key is typed and sent, and never shown again: no form has it filled in.
2. What a trial found is the answer to its form: it is kept nowhere.
"""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from tollkeeper.accounts.providers.description import BadDescription
from tollkeeper.accounts.providers.served_models import model_names
from tollkeeper.console.pages import Handler, staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.providers import ONE, account_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.provider_care import (
    drain_provider,
    pause_provider,
    resume_provider,
    rotate_provider_key,
    try_provider,
)
from tollkeeper.office.provider_views import ProviderDetails
from tollkeeper.office.provider_wishes import ProviderWish
from tollkeeper.office.providers import add_provider, change_provider, remove_provider, show_provider

SERVES = {
    "family": "The vendor's own models (only at the vendor's own address)",
    "named": "The models named below",
    "all": "Every model of the catalog, under our names",
}
LIMITS = ("requests_per_minute", "tokens_per_minute", "concurrency")


async def add_form(visit: Visit) -> Response:
    return visit.page("provider_add.html", vendors=visit.desks.office.provider_terms.vendors, serves=SERVES)


async def add(visit: Visit) -> Response:
    given = _served(visit)
    made = None if given is None else await acted(visit, add_provider, **given, **_lists(visit))
    if made is None:
        return await add_form(visit)
    name = visit.form.text("name")
    return await account_page(visit, name, trial=made.trial, just_done=f"{name} is added, and its key is sealed.")


async def change_form(visit: Visit) -> Response:
    details = await show_provider(visit.desks.office, ProviderWish(name=_name(visit)), visit.by)
    return visit.page("provider_change.html", details=details, row=details.standing, kept=_kept(details), serves=SERVES)


async def change(visit: Visit) -> Response:
    given = _served(visit)
    if given is not None:
        # A field that was emptied takes its limit away.
        limits: dict[str, Any] = {name: visit.form.text(name) or None for name in LIMITS}
        version = visit.form.text("api_version") or None
        fields = given | limits | _lists(visit) | {"api_version": version, "name": _name(visit)}
        if await acted(visit, change_provider, **fields) is not None:
            return visit.go(f"/staff/providers/{_name(visit)}", done="provider-changed")
    return await change_form(visit)


async def test(visit: Visit) -> Response:
    trial = await acted(visit, try_provider, name=_name(visit))
    return await account_page(visit, _name(visit), trial=trial)


async def rotate_key(visit: Visit) -> Response:
    if await acted(visit, rotate_provider_key, name=_name(visit)) is None:
        return await account_page(visit, _name(visit))
    return visit.go(f"/staff/providers/{_name(visit)}", done="provider-key")


async def remove(visit: Visit) -> Response:
    name = _name(visit)
    if visit.form.text("confirmed_name") != name:
        visit.form.refuse("confirmed_name", "Type the account's name. Nothing was removed.")
    elif await acted(visit, remove_provider, name=name) is not None:
        return visit.go("/staff/providers", done="provider-removed")
    return await account_page(visit, name)


def _state(act: Act[Any, Any], done: str) -> Handler:
    async def set_state(visit: Visit) -> Response:
        if await acted(visit, act, name=_name(visit)) is None:
            return await account_page(visit, _name(visit))
        return visit.go(f"/staff/providers/{_name(visit)}", done=done)

    return set_state


def _name(visit: Visit) -> str:
    return str(visit.request.path_params["name"])


def _served(visit: Visit) -> dict[str, Any] | None:
    """What it is to serve, as acts are asked; None: the form says why not."""
    chosen = visit.form.text("serves")
    if chosen == "all":
        return {"all_models": True}
    if chosen == "family":
        return {"models": None}
    try:
        models = model_names(visit.form.text("model_names").split())
    except BadDescription as problem:
        visit.form.refuse("model_names", f"{problem} Nothing was done.")
        return None
    if not models:
        visit.form.refuse("model_names", "Name the models, one on each line, or choose otherwise. Nothing was done.")
        return None
    return {"models": models}


def _lists(visit: Visit) -> dict[str, list[str]]:
    return {name: visit.form.text(name).replace(",", " ").split() for name in ("rejects", "passes")}


def _kept(details: ProviderDetails) -> dict[str, str]:
    """The form as the account is now."""
    row = details.standing
    serves = "family" if row.family else "all" if details.model_names is None else "named"
    names = [ours if ours == theirs else f"{ours}={theirs}" for ours, theirs in (details.model_names or {}).items()]
    plain: Sequence[tuple[str, object]] = (
        ("base_url", row.base_url),
        ("tier", row.tier),
        ("weight", row.weight),
        *((name, getattr(row, name)) for name in LIMITS),
        ("cost_multiplier", details.cost_multiplier),
        ("api_version", details.api_version),
        ("serves", serves),
        ("model_names", "\n".join(names)),
        ("rejects", ", ".join(row.rejects)),
        ("passes", ", ".join(row.passes)),
    )
    return {name: "" if value is None else str(value) for name, value in plain}


PAGES = (
    staff_get("/staff/providers/add", add_form, Scope.CATALOG),
    staff_post("/staff/providers/add", add, Scope.CATALOG),
    # Below the page whose address it could be taken for.
    *ONE,
    staff_get("/staff/providers/{name}/change", change_form, Scope.CATALOG),
    staff_post("/staff/providers/{name}/change", change, Scope.CATALOG),
    staff_post("/staff/providers/{name}/test", test, Scope.CATALOG),
    staff_post("/staff/providers/{name}/rotate-key", rotate_key, Scope.CATALOG),
    staff_post("/staff/providers/{name}/pause", _state(pause_provider, "provider-paused"), Scope.CATALOG),
    staff_post("/staff/providers/{name}/drain", _state(drain_provider, "provider-draining"), Scope.CATALOG),
    staff_post("/staff/providers/{name}/resume", _state(resume_provider, "provider-active"), Scope.CATALOG),
    staff_post("/staff/providers/{name}/remove", remove, Scope.CATALOG),
)
