"""Sessions: recognised by their tokens, listed for their owners, ended at will."""

from collections.abc import Sequence

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.core.people.logins import (
    TOKEN_LENGTH,
    SecondFactorMissing,
    SessionOver,
    SessionRecord,
    SessionStanding,
    standing,
    token_digest,
)


async def session_of(desk: FrontDesk, token: str) -> SessionRecord:
    """The session that a token opens. Raise SessionOver, or SecondFactorMissing for staff who have none yet."""
    session, worth = await _found(desk, token)
    if worth is SessionStanding.NEEDS_SECOND_FACTOR:
        raise SecondFactorMissing
    return session


async def session_setting_up(desk: FrontDesk, token: str) -> SessionRecord:
    """The session of a token, also where it is good for nothing but setting up a second factor. Raise SessionOver."""
    session, _ = await _found(desk, token)
    return session


async def live_sessions(desk: FrontDesk, account_id: int) -> Sequence[SessionRecord]:
    """Sessions that can still be used, the newest first."""
    sessions, now = await desk.sessions.of(account_id)
    return [session for session in sessions if standing(session, now) is not SessionStanding.OVER]


async def sign_out(desk: FrontDesk, session: SessionRecord) -> None:
    await desk.sessions.revoke(session.account_id, session.session_id, actor=owner(session.account_id))


async def revoke_session(desk: FrontDesk, session: SessionRecord, session_id: int) -> bool:
    """End one of one's own. Whether there was such a session until now; another's is not touched."""
    return await desk.sessions.revoke(session.account_id, session_id, actor=owner(session.account_id))


async def sign_out_everywhere(desk: FrontDesk, session: SessionRecord, *, stay_here: bool) -> int:
    """End all of one's own, or all others; how many that ended."""
    kept = session.session_id if stay_here else None
    return await desk.sessions.revoke_all(session.account_id, keep_session_id=kept, actor=owner(session.account_id))


def owner(account_id: int) -> str:
    """The owner of an account, as the audit trail names who acts."""
    return f"account:{account_id}"


async def _found(desk: FrontDesk, token: str) -> tuple[SessionRecord, SessionStanding]:
    found = await desk.sessions.find(token_digest(token)) if len(token) == TOKEN_LENGTH else None
    worth = SessionStanding.OVER if found is None else standing(*found)
    if found is None or worth is SessionStanding.OVER:
        raise SessionOver
    return found[0], worth
