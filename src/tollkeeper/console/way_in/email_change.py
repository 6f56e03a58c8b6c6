"""Another e-mail: asked for with the password, redeemed where its mail is read."""

from starlette.responses import Response

from tollkeeper.accounts.people.email_change import look_at_email_change, redeem_email_change, request_email_change
from tollkeeper.console.pages import Who, get, post
from tollkeeper.console.visit import Visit
from tollkeeper.console.way_in.proof import proof_of, refuse_proof
from tollkeeper.core.people.logins import LoginRefusal

PAGE = "way_in/email.html"


async def show(visit: Visit, *, status: int = 200) -> Response:
    return visit.page(PAGE, status=status)


async def ask(visit: Visit) -> Response:
    email, proof = visit.form.text("email"), proof_of(visit)
    try:
        await request_email_change(visit.front_desk, visit.session, email, proof, visit.visitor)
    except LoginRefusal as refusal:
        return await show(visit, status=refuse_proof(visit, refusal))
    return visit.go("/security/email/sent")


async def sent(visit: Visit) -> Response:
    return visit.page("way_in/email_sent.html")


async def look(visit: Visit) -> Response:
    """Nothing changes by looking: mail programs follow links by themselves."""
    token = visit.query.get("token", "")
    try:
        change = await look_at_email_change(visit.front_desk, token)
    except LoginRefusal as refusal:
        return _over(visit, refusal)
    return visit.page("way_in/email_confirm.html", token=token, change=change)


async def redeem(visit: Visit) -> Response:
    try:
        change = await redeem_email_change(visit.front_desk, visit.form.text("token"), visit.found)
    except LoginRefusal as refusal:
        return _over(visit, refusal)
    if visit.found is not None and visit.account_id == change.account_id:
        return visit.go("/security", done="email-changed")
    return visit.go("/sign-in", done="email-changed-out")


def _over(visit: Visit, refusal: LoginRefusal) -> Response:
    return visit.page("way_in/link_over.html", status=visit.refuse(refusal), way="/security/email")


PAGES = (
    get("/security/email", show),
    post("/security/email", ask),
    get("/security/email/sent", sent),
    get("/security/email/confirm", look, who=Who.ANYBODY, no_referrer=True),
    post("/security/email/confirm", redeem, who=Who.ANYBODY),
)
