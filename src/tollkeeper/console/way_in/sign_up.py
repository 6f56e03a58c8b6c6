"""Signing up: a request, a mail, and an account once whoever reads that mail has chosen a password."""

from starlette.responses import Response

from tollkeeper.accounts.people.sign_up import SignUpWish, look_at_sign_up, request_sign_up, verify_sign_up
from tollkeeper.console.pages import Who, get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import AccountThere, LinkNotValid, LoginRefusal


async def show(visit: Visit) -> Response:
    return visit.page("way_in/sign_up.html", invite=visit.query.get("invite", ""))


async def invited(visit: Visit) -> Response:
    """An invite link ends in the friend's gift code."""
    return visit.go("/sign-up", invite=visit.request.path_params["gift_code"])


async def ask(visit: Visit) -> Response:
    form = visit.form
    wish = SignUpWish(email=form.text("email"), name=form.text("name"), gift_code=form.text("invite"))
    try:
        await request_sign_up(visit.front_desk, wish, visit.visitor)
    except LoginRefusal as refusal:
        status = visit.refuse(refusal)
        return visit.page("way_in/sign_up.html", status=status, invite=form.text("invite"))
    return visit.go("/sign-up/sent")


async def sent(visit: Visit) -> Response:
    return visit.page("way_in/sent.html", reset=False)


async def look(visit: Visit) -> Response:
    """Nothing changes by looking: mail programs follow links by themselves."""
    return await _verify_page(visit, visit.query.get("token", ""))


async def verify(visit: Visit) -> Response:
    token, password = visit.form.text("token"), visit.form.exactly("new_password")
    gift_code = visit.form.text("invite")
    try:
        await verify_sign_up(visit.front_desk, token, password, gift_code=gift_code)
    except (LinkNotValid, AccountThere) as refusal:
        return visit.page("way_in/link_over.html", status=visit.refuse(refusal), way="/sign-up")
    except LoginRefusal as refusal:
        return await _verify_page(visit, token, status=visit.refuse(refusal))
    return visit.go("/sign-in", done="account-opened")


async def _verify_page(visit: Visit, token: str, *, status: int = 200) -> Response:
    try:
        request = await look_at_sign_up(visit.front_desk, token)
    except LoginRefusal as refusal:
        return visit.page("way_in/link_over.html", status=visit.refuse(refusal), way="/sign-up")
    return visit.page("way_in/verify.html", status=status, token=token, wish=request)


PAGES = (
    get("/sign-up", show, who=Who.STRANGER),
    get("/i/{gift_code}", invited, who=Who.STRANGER),
    post("/sign-up", ask, who=Who.STRANGER),
    get("/sign-up/sent", sent, who=Who.ANYBODY),
    get("/verify", look, who=Who.ANYBODY, no_referrer=True),
    post("/verify", verify, who=Who.ANYBODY),
)
