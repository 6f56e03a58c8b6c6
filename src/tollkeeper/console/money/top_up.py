"""Top up: a code becomes quota, once; every top-up stays on record.

Rules of this file
1. A code that this account redeemed before is told as that, with the top-up that it became: nothing was added.
2. Everything that is not accepted has one answer, so that guessing tells nothing.
"""

from ipaddress import IPv6Address

from starlette.responses import Response

from tollkeeper.accounts.money.redeem import AccountIsDisabled, CodeNotAccepted, RedeemingLocked, RedeemWish, redeem
from tollkeeper.console.figures import moment
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.client_ip import Ip, read_ip
from tollkeeper.ports import NotOnFile

PAGE = "money/top_up.html"
NETWORK_BITS = 64


async def show(visit: Visit, *, status: int = 200) -> Response:
    top_ups = await visit.desks.redemptions.top_ups(visit.account_id)
    faucet = visit.desks.faucet_terms
    return visit.page(PAGE, status=status, top_ups=top_ups, faucet=faucet, gift=visit.query.get("gift", ""))


async def take(visit: Visit) -> Response:
    wish = RedeemWish(
        account_id=visit.account_id,
        code=visit.form.text("code"),
        gift_code=visit.form.text("gift_code"),
        ip=counted_ip(visit),
    )
    try:
        redeemed = await redeem(wish, visit.desks.referral_terms, visit.desks.redemptions, actor=visit.actor)
    except CodeNotAccepted:
        told = visit.gettext("The code or the gift code was not accepted, and nothing was taken. Check what you typed.")
        visit.form.refuse("code", told)
        return await show(visit)
    except RedeemingLocked as locked:
        told = visit.gettext(
            "Too many codes were not accepted. Try again after %(until)s.",
            until=moment(locked.until, visit.language).striptags(),
        )
        visit.form.refuse("code", told)
        return await show(visit, status=429)
    except AccountIsDisabled:
        visit.form.refuse("", visit.gettext("This account is disabled. Write to support."))
        return await show(visit, status=403)
    return visit.go(f"/top-up/{redeemed.top_up.id}", done="topped-up-before" if redeemed.before else "topped-up")


async def show_one(visit: Visit) -> Response:
    wanted = visit.request.path_params["top_up_id"]
    for top_up in await visit.desks.redemptions.top_ups(visit.account_id):
        if top_up.id == wanted:
            return visit.page("money/top_up_one.html", top_up=top_up)
    raise NotOnFile("There is no such top-up.")


def counted_ip(visit: Visit) -> Ip:
    """Wrong codes are counted by account and by network. Where the network is not known, the account stands for it:
    without one nothing would be counted at all."""
    return read_ip(visit.visitor.ip) or IPv6Address(visit.account_id << NETWORK_BITS)


PAGES = (
    get("/top-up", show),
    post("/top-up", take, once=True),
    get("/top-up/{top_up_id:int}", show_one),
)
