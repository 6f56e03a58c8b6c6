"""Second factors: set up with an app, turned off by a last code.

Rules of this file
1. The secret is shown in the answer to the password, and waits sealed in the page until a code confirms it.
"""

import io

import segno
from markupsafe import Markup
from starlette.responses import Response

from tollkeeper.accounts.people.second_factor import (
    Proposal,
    confirm_second_factor,
    propose_second_factor,
    turn_off_second_factor,
)
from tollkeeper.console.pages import Who, get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import LoginRefusal, WrongCredentials

PAGE = "way_in/second_factor.html"
PURPOSE = "second factor"


async def show(visit: Visit) -> Response:
    return visit.page(PAGE)


async def propose(visit: Visit) -> Response:
    try:
        proposal = await propose_second_factor(visit.front_desk, visit.session, visit.form.exactly("password"))
    except WrongCredentials:
        visit.form.refuse("password", visit.gettext("This is not your password. Nothing was changed."))
        return visit.page(PAGE)
    except LoginRefusal as refusal:
        return visit.page(PAGE, status=visit.refuse(refusal))
    return _proposed(visit, proposal)


async def confirm(visit: Visit) -> Response:
    ticket = visit.house.seals.opened(visit.form.exactly("ticket"), visitor=visit.bound_to, purpose=PURPOSE)
    if ticket is None:
        return visit.go("/security/second-factor")
    secret, _, link = ticket.partition("\n")
    try:
        confirmed = await confirm_second_factor(visit.front_desk, visit.session, visit.form.text("code"))
    except LoginRefusal as refusal:
        return _proposed(visit, Proposal(secret, link), status=visit.refuse(refusal))
    # From here on the forms of this page belong to the session under its new token.
    visit.token = confirmed.token
    return visit.sign_in(visit.page("way_in/recovery.html", codes=confirmed.recovery_codes), confirmed.token)


async def turn_off(visit: Visit) -> Response:
    try:
        await turn_off_second_factor(visit.front_desk, visit.session, visit.form.text("code"))
    except LoginRefusal as refusal:
        return visit.page(PAGE, status=visit.refuse(refusal))
    return visit.go("/security", done="second-factor-off")


def _proposed(visit: Visit, proposal: Proposal, *, status: int = 200) -> Response:
    ticket = visit.house.seals.seal(f"{proposal.secret}\n{proposal.link}", visitor=visit.bound_to, purpose=PURPOSE)
    spaced = " ".join(proposal.secret[at : at + 4] for at in range(0, len(proposal.secret), 4))
    return visit.page(
        "way_in/second_factor_app.html", status=status, secret=spaced, drawing=qr_code(proposal.link), ticket=ticket
    )


def qr_code(text: str) -> Markup:
    """As SVG that needs no style of its own."""
    drawn = io.BytesIO()
    segno.make(text, error="m", micro=False).save(
        drawn, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=1, svgclass="qr", lineclass=None
    )
    # Of letters, digits and our own text, escaped in the link: nothing that a page could take for markup.
    return Markup(drawn.getvalue().decode())  # noqa: S704


PAGES = (
    get("/security/second-factor", show, who=Who.SETTING_UP),
    post("/security/second-factor", propose, who=Who.SETTING_UP),
    post("/security/second-factor/confirm", confirm, who=Who.SETTING_UP),
    post("/security/second-factor/off", turn_off),
)
