"""A new password by a link in a mail."""

from starlette.responses import Response

from tollkeeper.accounts.people.passwords import request_reset, reset_password
from tollkeeper.console.pages import Who, get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import LinkNotValid, LoginRefusal


async def show(visit: Visit) -> Response:
    return visit.page("way_in/forgot.html")


async def ask(visit: Visit) -> Response:
    try:
        await request_reset(visit.front_desk, visit.form.text("email"), visit.visitor)
    except LoginRefusal as refusal:
        return visit.page("way_in/forgot.html", status=visit.refuse(refusal))
    return visit.go("/forgot/sent")


async def sent(visit: Visit) -> Response:
    return visit.page("way_in/sent.html", reset=True)


async def look(visit: Visit) -> Response:
    return visit.page("way_in/reset.html", token=visit.query.get("token", ""))


async def reset(visit: Visit) -> Response:
    token = visit.form.text("token")
    try:
        await reset_password(visit.front_desk, token, visit.form.exactly("new_password"))
    except LinkNotValid as refusal:
        return visit.page("way_in/link_over.html", status=visit.refuse(refusal), way="/forgot")
    except LoginRefusal as refusal:
        return visit.page("way_in/reset.html", status=visit.refuse(refusal), token=token)
    # Every session is over, also the one that this browser may have had.
    return visit.sign_out(visit.go("/sign-in", done="password-reset"))


PAGES = (
    get("/forgot", show, who=Who.ANYBODY),
    post("/forgot", ask, who=Who.ANYBODY),
    get("/forgot/sent", sent, who=Who.ANYBODY),
    get("/reset", look, who=Who.ANYBODY, no_referrer=True),
    post("/reset", reset, who=Who.ANYBODY),
)
