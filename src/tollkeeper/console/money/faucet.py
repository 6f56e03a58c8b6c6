"""The faucet: a key with a little quota of its own, for nothing, shown once."""

from collections.abc import Mapping

from starlette.responses import Response

from tollkeeper.accounts.money.faucet import FaucetDry, pour
from tollkeeper.accounts.money.redeem import AccountIsDisabled
from tollkeeper.console.figures import moment
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.console.words import marked
from tollkeeper.ports.customers.faucet import Poured

PAGE = "money/faucet.html"
WHY_DRY: Mapping[Poured | None, str] = {
    None: marked("The faucet counts by network, and yours is not known. Write to support."),
    Poured.UNVERIFIED: marked("The faucet is for accounts with a verified e-mail."),
    Poured.TOO_SOON: marked("The faucet gives once in 24 hours. Come again after %(until)s."),
    Poured.NETWORK_FULL: marked("The faucet has given enough to your network today. Come again after %(until)s."),
    Poured.DAY_FULL: marked("The faucet has given all that it gives in 24 hours. Come again after %(until)s."),
}


async def show(visit: Visit, *, status: int = 200) -> Response:
    return visit.page(PAGE, status=status, terms=visit.desks.faucet_terms)


async def take(visit: Visit) -> Response:
    desks = visit.desks
    try:
        given = await pour(visit.account_id, visit.visitor.ip, desks.faucet_terms, desks.key_maker, desks.faucet)
    except FaucetDry as dry:
        until = moment(dry.until, visit.language).striptags() if dry.until else ""
        visit.form.refuse("", visit.gettext(WHY_DRY[dry.verdict], until=until))
        return await show(visit, status=429 if dry.until else 422)
    except AccountIsDisabled:
        visit.form.refuse("", visit.gettext("This account is disabled. Write to support."))
        return await show(visit, status=403)
    return visit.page(
        "money/faucet_issued.html",
        issued=given.issued,
        name=visit.gettext("Faucet"),
        kept_hours=None,
        amount=desks.faucet_terms.amount,
        expires_at=given.expires_at,
    )


PAGES = (get("/faucet", show), post("/faucet", take, once=True))
