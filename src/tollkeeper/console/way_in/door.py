"""The page where people sign in, with what a passkey of theirs would have to sign.

Rules of this file
1. Each time the page is shown, it has a challenge of its own. That waits sealed in the page: nothing is kept here for
   strangers who only look.
"""

from starlette.responses import Response

from tollkeeper.accounts.people.passkeys import ask_for_passkey
from tollkeeper.console.paths import own_path
from tollkeeper.console.visit import Visit

CHALLENGE_PURPOSE = "passkey sign in"


async def sign_in_page(visit: Visit, *, way: str, status: int = 200) -> Response:
    """`way` is where to go afterwards."""
    party = visit.site.passkeys_for
    asked = ask_for_passkey(visit.front_desk, party) if party else None
    ticket = asked and visit.house.seals.seal(asked.challenge, visitor=visit.bound_to, purpose=CHALLENGE_PURPOSE)
    announcements = await visit.desks.announcements.current()
    return visit.page(
        "way_in/sign_in.html",
        status=status,
        next=own_path(way),
        asked=asked,
        ticket=ticket,
        announcements=announcements,
    )
