"""Security: the password, where one is signed in, passkeys, and whether there is a second factor."""

from starlette.responses import Response

from tollkeeper.accounts.people.passkeys import passkeys_of
from tollkeeper.accounts.people.passwords import change_password
from tollkeeper.accounts.people.sessions import live_sessions, revoke_session, sign_out_everywhere
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import LoginRefusal, WrongCredentials

PAGE = "way_in/security.html"


async def show(visit: Visit, *, status: int = 200) -> Response:
    sessions = await live_sessions(visit.front_desk, visit.account_id)
    passkeys = await passkeys_of(visit.front_desk, visit.account_id)
    return visit.page(PAGE, status=status, sessions=sessions, here=visit.session.session_id, passkeys=passkeys)


async def change(visit: Visit) -> Response:
    old, new = visit.form.exactly("old_password"), visit.form.exactly("new_password")
    try:
        await change_password(visit.front_desk, visit.session, old, new)
    except WrongCredentials:
        visit.form.refuse("old_password", visit.gettext("This is not your password. Nothing was changed."))
        return await show(visit)
    except LoginRefusal as refusal:
        return await show(visit, status=visit.refuse(refusal))
    return visit.go("/security", done="password-changed")


async def end_one(visit: Visit) -> Response:
    session_id = visit.request.path_params["session_id"]
    await revoke_session(visit.front_desk, visit.session, session_id)
    if session_id == visit.session.session_id:
        return visit.sign_out(visit.go("/sign-in", done="signed-out"))
    return visit.go("/security", done="session-ended")


async def end_others(visit: Visit) -> Response:
    await sign_out_everywhere(visit.front_desk, visit.session, stay_here=True)
    return visit.go("/security", done="sessions-ended")


async def end_all(visit: Visit) -> Response:
    await sign_out_everywhere(visit.front_desk, visit.session, stay_here=False)
    return visit.sign_out(visit.go("/sign-in", done="signed-out"))


PAGES = (
    get("/security", show),
    post("/security/password", change),
    post("/security/sessions/{session_id:int}/end", end_one),
    post("/security/sessions/end-others", end_others),
    post("/security/sessions/end-all", end_all),
)
