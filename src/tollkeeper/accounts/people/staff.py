"""Staff: who has which role, and what support does for people who cannot sign in.

Rules of this file
1. Everything here is done by somebody, who has the role for it: support for customers, operators for staff as well.
2. A role is given by an operator, here, and never comes with a request of its owner's.
3. Everything that is done is on the record, with who did it.
"""

from collections.abc import Sequence

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.sessions import live_sessions
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.emails import canonical
from tollkeeper.core.people.logins import Actor, Role, RoleMissing, SessionRecord
from tollkeeper.ports import AccountDesk, NotOnFile
from tollkeeper.ports.people import LoginRecord

LISTED_MOST = 1_000
RANKS = {Role.CUSTOMER: 0, Role.SUPPORT: 1, Role.OPERATOR: 2}


def require_role(by: Actor, least: Role) -> None:
    """Raise RoleMissing."""
    if RANKS[by.role] < RANKS[least]:
        raise RoleMissing


async def listed_logins(
    desk: FrontDesk, *, staff_only: bool, before: int | None = None, limit: int = LISTED_MOST, by: Actor
) -> Sequence[LoginRecord]:
    """The newest first; `before`: only those of accounts with smaller numbers. Raise RoleMissing."""
    require_role(by, Role.SUPPORT)
    return await desk.logins.listed(staff_only=staff_only, before=before, limit=limit)


async def login_of(desk: FrontDesk, whom: int | str, *, by: Actor) -> LoginRecord:
    """The login of this account, or with this e-mail. Raise RoleMissing, NotAnEmail, or NotOnFile."""
    require_role(by, Role.SUPPORT)
    if isinstance(whom, int):
        return await desk.logins.of(whom)
    login = await desk.logins.find(canonical(whom))
    if login is None:
        raise NotOnFile("No login has this e-mail.")
    return login


async def sessions_of(desk: FrontDesk, account_id: int, *, by: Actor) -> Sequence[SessionRecord]:
    """The open sessions of a person. Raise RoleMissing."""
    require_role(by, Role.SUPPORT)
    return await live_sessions(desk, account_id)


async def set_role(desk: FrontDesk, account_id: int, role: Role, *, by: Actor) -> bool:
    """Whether that was news. Its sessions are over: those of staff are of another kind. Raise RoleMissing, or
    NotOnFile."""
    require_role(by, Role.OPERATOR)
    return await desk.logins.set_role(account_id, role, actor=by.name)


async def end_sessions(desk: FrontDesk, account_id: int, *, by: Actor) -> int:
    """Sign somebody out everywhere; how many sessions that ended. Raise RoleMissing, or NotOnFile."""
    require_over(by, await login_of(desk, account_id, by=by))
    return await desk.sessions.revoke_all(account_id, keep_session_id=None, actor=by.name)


async def send_reset(desk: FrontDesk, whom: int | str, *, by: Actor) -> int:
    """Have a link for a new password sent; the account. Raise RoleMissing, NotAnEmail, or NotOnFile."""
    login = await login_of(desk, whom, by=by)
    require_over(by, login)
    await desk.logins.send_reset(login.account_id, actor=by.name)
    return login.account_id


async def unlock(desk: FrontDesk, whom: int | str, *, by: Actor) -> int:
    """End every lock on signing in and on redeeming, whoever brought it about; how many there were. Raise RoleMissing,
    NotAnEmail, or NotOnFile."""
    login = await login_of(desk, whom, by=by)
    require_over(by, login)
    return await desk.lockouts.clear(login, actor=by.name)


async def disable_account(desk: FrontDesk, accounts: AccountDesk, account_id: int, reason: str, *, by: Actor) -> bool:
    """Until it is enabled again, the account refuses sign-ins, calls, redemptions and withdrawals; its sessions end.
    Return whether it was enabled before. Raise RoleMissing, ValueError, or NotOnFile."""
    await _require_over_account(desk, account_id, by)
    return await accounts.disable(account_id, checked_reason(reason), actor=by.name)


async def enable_account(desk: FrontDesk, accounts: AccountDesk, account_id: int, reason: str, *, by: Actor) -> bool:
    """Its keys work again; whoever has its login signs in anew. Whether that was news. Raise RoleMissing, ValueError,
    or NotOnFile."""
    await _require_over_account(desk, account_id, by)
    return await accounts.enable(account_id, checked_reason(reason), actor=by.name)


async def require_over_customer(desk: FrontDesk, account_id: int, *, by: Actor) -> None:
    """Support acts for customers, and for accounts that nobody signs in to; what belongs to staff is for operators.
    Raise RoleMissing."""
    try:
        login = await login_of(desk, account_id, by=by)
    except NotOnFile:
        return
    require_over(by, login)


async def _require_over_account(desk: FrontDesk, account_id: int, by: Actor) -> None:
    try:
        login = await login_of(desk, account_id, by=by)
    except NotOnFile:
        # The operator's own, or a reseller's.
        require_role(by, Role.OPERATOR)
    else:
        require_over(by, login)


def require_over(by: Actor, login: LoginRecord) -> None:
    """Raise RoleMissing."""
    require_role(by, Role.OPERATOR if login.role.is_staff else Role.SUPPORT)
