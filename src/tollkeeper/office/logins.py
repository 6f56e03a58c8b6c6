"""Logins: who may act for accounts, where they are signed in, and what support does for people who cannot sign in.

Rules of this file
1. What belongs to staff is judged by the role of whoever acts (accounts/people/staff), not by the scope alone.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.people import staff
from tollkeeper.accounts.people.sign_up import SignUpWish, open_account
from tollkeeper.core.people.logins import Actor, Role, SessionRecord
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import MadeAccount
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import AccountReason, AccountWish, Changed, ReasonText
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.roster import CustomerState
from tollkeeper.ports.people import LoginRecord

EmailText = Annotated[str, msgspec.Meta(max_length=254)]


class LoginsWish(Paging, frozen=True, kw_only=True):
    """Which logins. With an e-mail: the one that has it, if any."""

    staff_only: Annotated[bool, msgspec.Meta(description="Only support and operators.")] = False
    email: EmailText = ""


class LoginView(msgspec.Struct, frozen=True, kw_only=True):
    """A login, without its password."""

    account: int
    email: str
    role: Role
    second_factor: bool
    created_at: datetime
    verified_at: datetime | None
    password_changed_at: datetime
    account_state: CustomerState


class NewLoginWish(msgspec.Struct, frozen=True, kw_only=True):
    email: EmailText
    password: Annotated[str, msgspec.Meta(max_length=1_024)]
    name: Annotated[str, msgspec.Meta(max_length=120, description="Of the account. Without it: the e-mail.")] = ""
    reason: ReasonText = ""


class RoleWish(AccountReason, frozen=True, kw_only=True):
    role: Role


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody is signed in."""

    session: int
    account: int
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    second_factor_at: datetime | None
    ip: str
    agent: str


class HowMany(msgspec.Struct, frozen=True):
    """How many there were."""

    count: int


class ResetSent(msgspec.Struct, frozen=True, kw_only=True):
    account: int
    # The setting without which the mail waits; empty: it is on its way.
    setting_missing: str


@act("GET", "/logins", Scope.READ)
async def list_logins(office: Office, wish: LoginsWish, by: Actor) -> Listed[LoginView]:
    """The logins, the newest first; with an e-mail, the one that has it."""
    if wish.email:
        return await _by_email(office, wish.email, by)
    before = wish.after_key(int)
    found = await staff.listed_logins(
        office.front_desk, staff_only=wish.staff_only, before=before, limit=wish.limit + 1, by=by
    )
    page = listed(found, wish.limit, lambda login: login.account_id)
    return Listed([login_view(login) for login in page.data], page.next)


@act("GET", "/accounts/{account}/login", Scope.READ)
async def show_login(office: Office, wish: AccountWish, by: Actor) -> LoginView:
    """The login of an account."""
    return login_view(await staff.login_of(office.front_desk, wish.account, by=by))


@act("POST", "/logins", Scope.EVERYTHING)
async def open_login(office: Office, wish: NewLoginWish, by: Actor) -> MadeAccount:
    """Open an account with a login at once, for somebody you know."""
    order = SignUpWish(email=wish.email, name=wish.name)
    return MadeAccount(await open_account(office.front_desk, order, wish.password, by=by))


@act("POST", "/accounts/{account}/login/role", Scope.EVERYTHING)
async def set_login_role(office: Office, wish: RoleWish, by: Actor) -> Changed:
    """Make somebody support, operator or customer. Their sessions end."""
    return Changed(await staff.set_role(office.front_desk, wish.account, wish.role, by=by))


@act("GET", "/accounts/{account}/sessions", Scope.READ)
async def list_sessions(office: Office, wish: AccountWish, by: Actor) -> Listed[SessionView]:
    """Where somebody is signed in, the newest first."""
    await staff.login_of(office.front_desk, wish.account, by=by)
    return Listed([_session(each) for each in await staff.sessions_of(office.front_desk, wish.account, by=by)])


@act("POST", "/accounts/{account}/sessions/end", Scope.SUPPORT)
async def end_login_sessions(office: Office, wish: AccountReason, by: Actor) -> HowMany:
    """Sign somebody out everywhere."""
    return HowMany(await staff.end_sessions(office.front_desk, wish.account, by=by))


@act("POST", "/accounts/{account}/login/reset", Scope.SUPPORT)
async def send_login_reset(office: Office, wish: AccountReason, by: Actor) -> ResetSent:
    """Send a link for a new password."""
    account = await staff.send_reset(office.front_desk, wish.account, by=by)
    return ResetSent(account=account, setting_missing=office.mail_setting_missing)


@act("POST", "/accounts/{account}/login/unlock", Scope.SUPPORT)
async def unlock_login(office: Office, wish: AccountReason, by: Actor) -> HowMany:
    """End the locks that too many attempts at signing in or redeeming brought about, whoever made them."""
    return HowMany(await staff.unlock(office.front_desk, wish.account, by=by))


async def _by_email(office: Office, email: str, by: Actor) -> Listed[LoginView]:
    try:
        return Listed([login_view(await staff.login_of(office.front_desk, email, by=by))])
    except NotOnFile:
        return Listed([])


def login_view(login: LoginRecord) -> LoginView:
    state = CustomerState.DISABLED if login.account_disabled else CustomerState.OPEN
    return LoginView(
        account=login.account_id,
        email=login.email,
        role=login.role,
        second_factor=login.second_factor,
        created_at=login.created_at,
        verified_at=login.verified_at,
        password_changed_at=login.password_changed_at,
        account_state=CustomerState.CLOSED if login.account_closed else state,
    )


def _session(each: SessionRecord) -> SessionView:
    return SessionView(
        session=each.session_id,
        account=each.account_id,
        created_at=each.created_at,
        last_seen_at=each.last_seen_at,
        expires_at=each.expires_at,
        second_factor_at=each.second_factor_at,
        ip=each.ip,
        agent=each.agent,
    )


ACTS = (
    list_logins,
    show_login,
    open_login,
    set_login_role,
    list_sessions,
    end_login_sessions,
    send_login_reset,
    unlock_login,
)
