"""Another e-mail for a login: asked for with the password, and redeemed by a link that was sent there.

Rules of this file
1. Until the link is redeemed nothing changes, and nobody else can have the present e-mail.
2. Whether the other e-mail has an account is said to nobody but its owner: the request does the same in both cases, and
   the mail differs.
3. The present e-mail is warned at once, and told when it has happened: whoever has the session and the password is not
   always who should have them.
"""

from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.accounts.people.passwords import MEANWHILE
from tollkeeper.accounts.people.second_factor import OwnerProof, require_owner
from tollkeeper.accounts.people.sign_up import may_write_to
from tollkeeper.core.people.emails import canonical
from tollkeeper.core.people.faucet import person_digest
from tollkeeper.core.people.logins import (
    AccountThere,
    EmailUnchanged,
    LinkNotValid,
    SessionRecord,
    WrongCredentials,
    token_digest,
)
from tollkeeper.ports.email_changes import EmailChange, EmailChanged


async def request_email_change(
    desk: FrontDesk, session: SessionRecord, email: str, proof: OwnerProof, visitor: RequestOrigin
) -> None:
    """Have a link sent to the other e-mail. Raise LoginRefusal."""
    wanted = canonical(email)
    if wanted == (await desk.logins.of(session.account_id)).email:
        raise EmailUnchanged
    login = await require_owner(desk, session, proof)
    if not await may_write_to(desk, wanted, "email-change", visitor):
        return
    if not await desk.email_changes.request(login, wanted):
        raise WrongCredentials(MEANWHILE)


async def look_at_email_change(desk: FrontDesk, token: str) -> EmailChange:
    """What is to change, for whoever has the mail to confirm; nothing changes. Raise LinkNotValid."""
    found = await desk.email_changes.look(token_digest(token))
    if found is None:
        raise LinkNotValid
    return found


async def redeem_email_change(desk: FrontDesk, token: str, session: SessionRecord | None) -> EmailChange:
    """Every session of the account is over but this one, if it is one of the account's. Raise LinkNotValid, or
    AccountThere."""
    change = await look_at_email_change(desk, token)
    here = session.session_id if session is not None and session.account_id == change.account_id else None
    became = await desk.email_changes.redeem(token_digest(token), person_digest(change.email), keep_session_id=here)
    if became is EmailChanged.TAKEN:
        raise AccountThere
    if became is EmailChanged.OVER:
        raise LinkNotValid
    return change
