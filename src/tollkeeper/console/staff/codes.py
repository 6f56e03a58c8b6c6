"""Redemption codes: batches of them, made once, exported once, and revoked.

Rules of this file
1. The codes are the answer to the form that exports them, to be copied or downloaded. They are kept nowhere.
"""

import base64
from typing import Any

from starlette.responses import Response

from tollkeeper.console.pages import staff_get, staff_post
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.list_links import has_scope, next_page
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import TERM_MONTHS
from tollkeeper.office.codes import (
    BatchNumber,
    BatchView,
    export_batch,
    list_batches,
    make_codes,
    revoke_batch,
    show_batch,
)

LIST, NEW = "/staff/codes", "/staff/codes/new"


async def show(visit: Visit) -> Response:
    page = await acted(visit, list_batches)
    return visit.page(
        "codes.html",
        rows=page.data if page else [],
        older=next_page(visit, LIST, page),
        may_make=has_scope(visit, Scope.MONEY),
        state_of=state_of,
        now=visit.desks.now(),
    )


async def new(visit: Visit) -> Response:
    return visit.page("codes_new.html", months=TERM_MONTHS)


async def make(visit: Visit) -> Response:
    made = await acted(visit, make_codes, rewards=visit.form.ticked("rewards"))
    return await new(visit) if made is None else visit.go(f"{LIST}/{made.batch}", done="codes-made")


async def one(visit: Visit) -> Response:
    return await _one(visit)


async def export(visit: Visit) -> Response:
    exported = await acted(visit, export_batch, batch=_batch(visit))
    if exported is None:
        return await _one(visit)
    text = "".join(f"{code}\n" for code in exported.codes)
    return await _one(visit, codes=exported.codes, text=text, file=base64.b64encode(text.encode()).decode())


async def revoke(visit: Visit) -> Response:
    done = await acted(visit, revoke_batch, batch=_batch(visit))
    return await _one(visit) if done is None else visit.go(f"{LIST}/{_batch(visit)}", done="codes-revoked")


async def _one(visit: Visit, **more: Any) -> Response:
    batch = await show_batch(visit.desks.office, BatchNumber(batch=_batch(visit)), visit.by)
    return visit.page(
        "codes_batch.html",
        batch=batch,
        state=state_of(batch, visit.desks.now()),
        may_make=has_scope(visit, Scope.MONEY),
        **{"codes": None, "text": "", "file": "", **more},
    )


def _batch(visit: Visit) -> int:
    found: int = visit.request.path_params["batch"]
    return found


def state_of(batch: BatchView, now: Any) -> tuple[str, str]:
    """In a word, and the colour of it."""
    if batch.revoked_at is not None:
        return "revoked", "tag-bad"
    if batch.redeemed >= batch.codes:
        return "all redeemed", "tag"
    if batch.expires_at is not None and batch.expires_at <= now:
        return "expired", "tag"
    return ("not exported yet", "tag-warn") if batch.exported_at is None else ("accepted", "tag-good")


PAGES = (
    staff_get(LIST, show, Scope.READ),
    staff_get(NEW, new, Scope.MONEY),
    staff_post(NEW, make, Scope.MONEY, once=True),
    staff_get(LIST + "/{batch:int}", one, Scope.READ),
    staff_post(LIST + "/{batch:int}/export", export, Scope.MONEY),
    staff_post(LIST + "/{batch:int}/revoke", revoke, Scope.MONEY),
)
