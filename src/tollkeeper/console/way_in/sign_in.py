"""Signing in, with a second factor where there is one, and out.

Rules of this file
1. A password that was right waits sealed in the page for the code: it is neither kept here nor typed twice.
"""

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.people.reading import end_reading
from tollkeeper.accounts.people.sessions import sign_out
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.console.pages import Page, Who, get, post
from tollkeeper.console.paths import own_path
from tollkeeper.console.visit import Visit
from tollkeeper.console.way_in.door import sign_in_page
from tollkeeper.core.people.logins import LoginRefusal, SecondFactorNeeded, WrongCode

PURPOSE = "sign in"


async def show(visit: Visit) -> Response:
    return await sign_in_page(visit, way=visit.query.get("next", "/"))


async def enter(visit: Visit) -> Response:
    form = visit.form
    given = Credentials(email=form.text("email"), password=form.exactly("password"))
    try:
        signed_in = await sign_in(visit.front_desk, given, visit.visitor)
    except SecondFactorNeeded:
        return _code_page(visit, given)
    except LoginRefusal as refusal:
        return await sign_in_page(visit, status=visit.refuse(refusal), way=form.text("next"))
    return visit.sign_in(visit.go(own_path(form.text("next"))), signed_in.token)


async def enter_with_code(visit: Visit) -> Response:
    form = visit.form
    ticket = visit.house.seals.opened(form.exactly("ticket"), visitor=visit.bound_to, purpose=PURPOSE)
    if ticket is None:
        return visit.go("/sign-in")
    email, password = msgspec.json.decode(ticket, type=tuple[str, str])
    given = Credentials(email=email, password=password, code=form.text("code"))
    try:
        signed_in = await sign_in(visit.front_desk, given, visit.visitor)
    except (SecondFactorNeeded, WrongCode) as refusal:
        visit.refuse(refusal)
        return _code_page(visit, given)
    except LoginRefusal as refusal:
        return await sign_in_page(visit, status=visit.refuse(refusal), way=form.text("next"))
    return visit.sign_in(visit.go(own_path(form.text("next"))), signed_in.token)


def _code_page(visit: Visit, given: Credentials) -> Response:
    ticket = msgspec.json.encode((given.email, given.password)).decode()
    sealed = visit.house.seals.seal(ticket, visitor=visit.bound_to, purpose=PURPOSE)
    return visit.page("way_in/code.html", ticket=sealed, next=own_path(visit.form.text("next")))


async def leave(visit: Visit) -> Response:
    if visit.reading is not None:
        await end_reading(visit.front_desk, visit.session, visit.reading, "signed out")
    await sign_out(visit.front_desk, visit.session)
    return visit.sign_out(visit.go("/sign-in", done="signed-out"))


PAGES = (
    get("/sign-in", show, who=Who.STRANGER),
    post("/sign-in", enter, who=Who.STRANGER),
    post("/sign-in/code", enter_with_code, who=Who.STRANGER),
    Page(method="POST", path="/sign-out", make=leave, who=Who.SETTING_UP, while_reading=True),
)
