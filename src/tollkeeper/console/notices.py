"""Notices: what one is told of, and from which amounts on. They go to the account's e-mail, and nowhere else yet."""

import msgspec
from starlette.responses import Response

from tollkeeper.console.keys.key_form import amount_in, typed
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports.customers.notices import NoticeChoices

PAGE = "notices.html"


class NoticeDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The form as it is shown."""

    low_balance: bool
    low_balance_below: str
    lot_expiring: bool
    price_change: bool
    new_sign_in: bool
    day_spend: bool
    day_spend_above: str


async def show(visit: Visit) -> Response:
    choices = await visit.desks.notices.of(visit.account_id)
    draft = NoticeDraft(
        low_balance=choices.low_balance,
        low_balance_below=typed(choices.low_balance_below),
        lot_expiring=choices.lot_expiring,
        price_change=choices.price_change,
        new_sign_in=choices.new_sign_in,
        day_spend=choices.day_spend_above is not None,
        day_spend_above=typed(choices.day_spend_above),
    )
    return _page(visit, draft)


async def keep(visit: Visit) -> Response:
    form = visit.form
    draft = NoticeDraft(
        low_balance=form.ticked("low_balance"),
        low_balance_below=form.text("low_balance_below"),
        lot_expiring=form.ticked("lot_expiring"),
        price_change=form.ticked("price_change"),
        new_sign_in=form.ticked("new_sign_in"),
        day_spend=form.ticked("day_spend"),
        day_spend_above=form.text("day_spend_above"),
    )
    below = _positive(visit, "low_balance_below", draft.low_balance_below)
    above = _positive(visit, "day_spend_above", draft.day_spend_above)
    if draft.day_spend and not draft.day_spend_above:
        form.refuse("day_spend_above", visit.gettext("Say from how many USD in a day on."))
    if not form.is_good:
        return _page(visit, draft)
    choices = NoticeChoices(
        low_balance=draft.low_balance,
        low_balance_below=below,
        lot_expiring=draft.lot_expiring,
        price_change=draft.price_change,
        new_sign_in=draft.new_sign_in,
        day_spend_above=above if draft.day_spend else None,
    )
    await visit.desks.notices.choose(visit.account_id, choices, actor=visit.actor)
    return visit.go("/notices", done="notices-kept")


def _page(visit: Visit, draft: NoticeDraft) -> Response:
    return visit.page(PAGE, draft=draft, usual_below=visit.desks.low_balance)


def _positive(visit: Visit, field: str, text: str) -> Quota | None:
    amount = amount_in(visit, field, text)
    if amount == 0:
        visit.form.refuse(field, visit.gettext("Choose an amount above zero."))
    return amount


PAGES = (get("/notices", show), post("/notices", keep))
