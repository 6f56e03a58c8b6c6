"""Passkeys: added, removed, and signed in with.

Rules of this file
1. What a device is to answer waits sealed in the page, bound to the visitor, for ten minutes.
2. The device is asked by a script. Everything else on these pages works without one.
"""

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.people.passkeys import (
    PasskeyProposal,
    PasskeyWish,
    add_passkey,
    passkey_of,
    propose_passkey,
    remove_passkey,
    sign_in_with_passkey,
)
from tollkeeper.console.figures import browser
from tollkeeper.console.pages import Who, get, post
from tollkeeper.console.paths import own_path
from tollkeeper.console.visit import Visit
from tollkeeper.console.way_in.door import CHALLENGE_PURPOSE, sign_in_page
from tollkeeper.core.people.logins import LoginRefusal, WrongCredentials
from tollkeeper.core.people.passkeys import PasskeyNotAdded, PasskeyRecord, PasskeyRefused

NEW_PAGE, REMOVE_PAGE = "way_in/passkey_new.html", "way_in/passkey_remove.html"
PROPOSAL_PURPOSE = "passkey"


async def show(visit: Visit, *, status: int = 200) -> Response:
    return visit.page(NEW_PAGE, status=status, suggested=browser(visit.visitor.agent))


async def propose(visit: Visit) -> Response:
    party, form = visit.site.passkeys_for, visit.form
    if party is None:
        return visit.go("/security/passkeys/new")
    wish = PasskeyWish(name=form.text("name"), password=form.exactly("password"), code=form.text("code"))
    try:
        proposal, options = await propose_passkey(visit.front_desk, visit.session, wish, party)
    except WrongCredentials:
        return await show(visit, status=_wrong_password(visit))
    except LoginRefusal as refusal:
        return await show(visit, status=visit.refuse(refusal))
    ticket = msgspec.json.encode(proposal).decode()
    sealed = visit.house.seals.seal(ticket, visitor=visit.bound_to, purpose=PROPOSAL_PURPOSE)
    return visit.page("way_in/passkey_make.html", name=proposal.name, options=options, ticket=sealed)


async def confirm(visit: Visit) -> Response:
    party, form = visit.site.passkeys_for, visit.form
    ticket = visit.house.seals.opened(form.exactly("ticket"), visitor=visit.bound_to, purpose=PROPOSAL_PURPOSE)
    try:
        if party is None or ticket is None:
            raise PasskeyNotAdded
        proposal = msgspec.json.decode(ticket, type=PasskeyProposal)
        await add_passkey(visit.front_desk, visit.session, proposal, form.exactly("answer"), party)
    except LoginRefusal as refusal:
        return await show(visit, status=visit.refuse(refusal))
    return visit.go("/security", done="passkey-added")


async def ask_to_remove(visit: Visit) -> Response:
    return visit.page(REMOVE_PAGE, passkey=await _named(visit))


async def remove(visit: Visit) -> Response:
    passkey = await _named(visit)
    try:
        await remove_passkey(visit.front_desk, visit.session, passkey.passkey_id, visit.form.exactly("password"))
    except WrongCredentials:
        return visit.page(REMOVE_PAGE, status=_wrong_password(visit), passkey=passkey)
    except LoginRefusal as refusal:
        return visit.page(REMOVE_PAGE, status=visit.refuse(refusal), passkey=passkey)
    return visit.go("/security", done="passkey-removed")


async def enter(visit: Visit) -> Response:
    party, form = visit.site.passkeys_for, visit.form
    challenge = visit.house.seals.opened(form.exactly("ticket"), visitor=visit.bound_to, purpose=CHALLENGE_PURPOSE)
    try:
        if party is None or challenge is None:
            raise PasskeyRefused
        signed_in = await sign_in_with_passkey(
            visit.front_desk, challenge, form.exactly("answer"), party, visit.visitor
        )
    except LoginRefusal as refusal:
        return await sign_in_page(visit, status=visit.refuse(refusal), way=form.text("next"))
    return visit.sign_in(visit.go(own_path(form.text("next"))), signed_in.token)


async def _named(visit: Visit) -> PasskeyRecord:
    return await passkey_of(visit.front_desk, visit.account_id, visit.request.path_params["passkey_id"])


def _wrong_password(visit: Visit) -> int:
    visit.form.refuse("password", visit.gettext("This is not your password. Nothing was changed."))
    return 422


PAGES = (
    get("/security/passkeys/new", show),
    post("/security/passkeys/new", propose),
    post("/security/passkeys/confirm", confirm),
    get("/security/passkeys/{passkey_id:int}/remove", ask_to_remove),
    post("/security/passkeys/{passkey_id:int}/remove", remove),
    post("/sign-in/passkey", enter, who=Who.STRANGER),
)
