"""Closing one's account: what happens, in numbers, and a form that cannot be sent by mistake."""

from starlette.responses import Response

from tollkeeper.accounts.people.closing import KEPT_DAYS, close_account
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.console.way_in.proof import proof_of, refuse_proof
from tollkeeper.core.partner.plan import quota_of_micros
from tollkeeper.core.people.logins import LoginRefusal

PAGE = "way_in/close.html"


async def show(visit: Visit, *, status: int = 200) -> Response:
    desks, now = visit.desks, visit.desks.now()
    keys = [key for key in await desks.keys.of_account(visit.account_id) if key.revoked_at is None]
    lots = [
        lot
        for lot in await desks.lots.of_account(visit.account_id)
        if lot.closed_at is None and lot.remaining > 0 and lot.expires_at > now
    ]
    partner = await desks.partners.statement(visit.account_id)
    return visit.page(
        PAGE,
        status=status,
        live_keys=len(keys),
        last_lot=max((lot.expires_at for lot in lots), default=None),
        partner=partner,
        cash_available=quota_of_micros(partner.cash.available),
        cash_pending=quota_of_micros(partner.cash.pending),
        cash_requested=quota_of_micros(partner.cash.requested),
        kept_days=KEPT_DAYS,
    )


async def close(visit: Visit) -> Response:
    typed, proof = visit.form.text("email"), proof_of(visit)
    try:
        await close_account(visit.front_desk, visit.desks.closings, visit.session, typed, proof)
    except LoginRefusal as refusal:
        return await show(visit, status=refuse_proof(visit, refusal))
    return visit.sign_out(visit.go("/sign-in", done="account-closed"))


PAGES = (get("/security/close", show), post("/security/close", close, once=True))
