"""Logins: `login list`, `show`, `open`, `role`, `sessions`, `revoke-sessions`, `reset-password`, `drop-second-factor`,
`drop-passkeys`, `unlock`, and what people do themselves: `sign-up`, `verify`, `sign-in`. Secrets come from standard
input, never as arguments. Whoever can run these has the service's own secrets, so they act as operators and nothing
locks them out."""

import getpass
import re
import sys
from collections.abc import Coroutine
from typing import Annotated, Any

import typer

from tollkeeper.accounts.people.front_desk import RequestOrigin, without_lockouts
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.accounts.people.sign_up import SignUpWish, open_account, request_sign_up, verify_sign_up
from tollkeeper.accounts.people.staff import (
    drop_passkeys,
    drop_second_factor,
    end_sessions,
    listed_logins,
    login_of,
    send_reset,
    sessions_of,
    set_role,
    unlock,
)
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import AccountId
from tollkeeper.cli.listing import AsJson, fields_of, show_json, show_list
from tollkeeper.cli.speak import say, settings_or_complain
from tollkeeper.core.people.logins import LoginRefusal, Role, SessionRecord
from tollkeeper.ports.people import LoginRecord
from tollkeeper.settings import Settings

login_app = typer.Typer(help="Who may act for accounts.", no_args_is_help=True)

# The command line has neither an IP nor a user agent.
HERE = RequestOrigin(agent="command line")

NO_SERVER = "A mail is written, but none is sent: TOLLKEEPER_SMTP_URL names no mail server."
NO_CONSOLE = (
    "A mail is written, but none is sent: its link leads to the console, and TOLLKEEPER_CONSOLE_URL does not say where "
    "that is."
)

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The e-mail to sign in with.")]
Whom = Annotated[str, typer.Argument(metavar="EMAIL|ACCOUNT", help="The e-mail, or the account's number.")]
AccountName = Annotated[str, typer.Option(help="What to call the account. Without it: the e-mail.")]


def register(app: typer.Typer) -> None:
    app.add_typer(login_app, name="login")


@login_app.command("list")
@command(LoginRefusal)
async def list_logins(
    staff: Annotated[bool, typer.Option("--staff", help="Only support and operators.")] = False,
    as_json: AsJson = False,
) -> None:
    """The logins, the newest first."""
    async with office(settings_or_complain()) as desk:
        logins = await listed_logins(desk.front_desk, staff_only=staff, by=desk.operator)
    head = ("account", "e-mail", "role", "second factor", "account is")
    show_list(logins, head=head, line=_line, record=_record, as_json=as_json)


@login_app.command("show")
@command(LoginRefusal)
async def show_login(whom: Whom, as_json: AsJson = False) -> None:
    """One login."""
    async with office(settings_or_complain()) as desk:
        login = await login_of(desk.front_desk, _meant(whom), by=desk.operator)
    if as_json:
        show_json(_record(login))
        return
    verified = moment(login.verified_at) if login.verified_at else "never"
    say(f"account {login.account_id}: {login.email}, {login.role.value}")
    say(f"verified {verified}; password of {moment(login.password_changed_at)}")
    say(f"second factor {'on' if login.second_factor else 'off'}, account {_state(login)}")


@login_app.command("open")
@command(LoginRefusal)
def open_login(email: Email, name: AccountName = "") -> Coroutine[None, None, None]:
    """Open an account with a login at once, for somebody you know. The password is read from standard input."""
    return _open(SignUpWish(email=email, name=name), _secret("Password"))


async def _open(wish: SignUpWish, password: str) -> None:
    async with office(settings_or_complain()) as desk:
        account = await open_account(desk.front_desk, wish, password, by=desk.operator)
    say(f"account {account}")


@login_app.command("role")
@command(LoginRefusal)
async def role(account: AccountId, role: Annotated[Role, typer.Argument(help="The role to give.")]) -> None:
    """Make somebody support, operator or customer. Their sessions end."""
    async with office(settings_or_complain()) as desk:
        news = await set_role(desk.front_desk, account, role, by=desk.operator)
    say(f"account {account} has the role {role.value}" + ("" if news else ", as it had before"))


@login_app.command("sessions")
@command(LoginRefusal)
async def sessions(whom: Whom, as_json: AsJson = False) -> None:
    """Where somebody is signed in."""
    async with office(settings_or_complain()) as desk:
        account = (await login_of(desk.front_desk, _meant(whom), by=desk.operator)).account_id
        found = await sessions_of(desk.front_desk, account, by=desk.operator)
    show_list(
        found,
        head=("session", "since", "last seen", "until", "ip", "agent", "second factor"),
        line=_session_line,
        record=_session_record,
        as_json=as_json,
        none=f"account {account} is signed in nowhere",
    )


@login_app.command("revoke-sessions")
@command(LoginRefusal)
async def revoke_sessions(whom: Whom) -> None:
    """Sign somebody out everywhere."""
    async with office(settings_or_complain()) as desk:
        account = (await login_of(desk.front_desk, _meant(whom), by=desk.operator)).account_id
        ended = await end_sessions(desk.front_desk, account, by=desk.operator)
    say(f"{ended} sessions of account {account} ended")


@login_app.command("reset-password")
@command(LoginRefusal)
async def reset(whom: Whom) -> None:
    """Send a link for a new password."""
    settings = settings_or_complain()
    async with office(settings) as desk:
        account = await send_reset(desk.front_desk, _meant(whom), by=desk.operator)
    if missing := _missing(settings):
        say(f"{missing} The link to account {account} waits, for a day.")
    else:
        say(f"A link is on its way to the e-mail of account {account}.")


@login_app.command("unlock")
@command(LoginRefusal)
async def unlock_login(whom: Whom) -> None:
    """End the locks that too many attempts at signing in or redeeming brought about, whoever made them."""
    async with office(settings_or_complain()) as desk:
        ended = await unlock(desk.front_desk, _meant(whom), by=desk.operator)
    say(f"{ended} locks ended")


@login_app.command("drop-second-factor")
@command(LoginRefusal)
async def drop(whom: Whom) -> None:
    """For somebody who lost the app and all recovery codes, and has shown otherwise who they are. They are told, and
    their sessions end."""
    async with office(settings_or_complain()) as desk:
        account = (await login_of(desk.front_desk, _meant(whom), by=desk.operator)).account_id
        had_one = await drop_second_factor(desk.front_desk, account, by=desk.operator)
    say(f"account {account} has no second factor " + ("any more" if had_one else "and had none"))


@login_app.command("drop-passkeys")
@command(LoginRefusal)
async def drop_every_passkey(whom: Whom) -> None:
    """For somebody whose account somebody else was in, or who lost every device. They are told, and their sessions
    end."""
    async with office(settings_or_complain()) as desk:
        account = (await login_of(desk.front_desk, _meant(whom), by=desk.operator)).account_id
        dropped = await drop_passkeys(desk.front_desk, account, by=desk.operator)
    say(f"{dropped} passkeys of account {account} removed")


@login_app.command("sign-up")
@command(LoginRefusal)
async def sign_up(
    email: Email,
    name: AccountName = "",
    gift_code: Annotated[str, typer.Option(help="Of the invite: its last five characters.")] = "",
) -> None:
    """Ask for an account, as anybody may."""
    wish = SignUpWish(email=email, name=name, gift_code=gift_code)
    settings = settings_or_complain()
    async with office(settings) as desk:
        await request_sign_up(without_lockouts(desk.front_desk), wish, HERE)
    if missing := _missing(settings):
        say(f"{missing} It waits. `login open` opens an account without one.")
    else:
        say("A mail is on its way. The account opens with `login verify` and the token of its link.")


@login_app.command("verify")
@command(LoginRefusal)
def verify(
    gift_code: Annotated[
        str | None, typer.Option(help="Instead of the one that was asked with; an empty one drops that.")
    ] = None,
) -> Coroutine[None, None, None]:
    """Open the account of a sign-up. Read from standard input: the token of its link and, on a second line, the
    password to choose."""
    return _verify(_secret("Token"), _secret("Password"), gift_code)


async def _verify(token: str, password: str, gift_code: str | None) -> None:
    async with office(settings_or_complain()) as desk:
        account = await verify_sign_up(desk.front_desk, token, password, gift_code=gift_code)
    say(f"account {account}")


@login_app.command("sign-in")
@command(LoginRefusal)
def sign_in_here(email: Email) -> Coroutine[None, None, None]:
    """Sign in. Read from standard input: the password and, on a second line, a code of the second factor if there is
    one."""
    return _sign_in(Credentials(email=email, password=_secret("Password"), code=_secret("Code, if any")))


async def _sign_in(given: Credentials) -> None:
    async with office(settings_or_complain()) as desk:
        signed_in = await sign_in(without_lockouts(desk.front_desk), given, HERE)
    say(f"account {signed_in.account_id}, session {signed_in.session_id}\n{signed_in.token}")


def _missing(settings: Settings) -> str:
    """Why a mail with a link is not sent; empty where it is."""
    if not settings.smtp_url:
        return NO_SERVER
    return "" if settings.console_url else NO_CONSOLE


def _meant(whom: str) -> int | str:
    """An account's number, or an e-mail: every one of these has an @."""
    return int(whom) if re.fullmatch("[0-9]{1,18}", whom) else whom


def _line(login: LoginRecord) -> tuple[str, ...]:
    factor = "on" if login.second_factor else "off"
    return (str(login.account_id), login.email, login.role.value, factor, _state(login))


def _record(login: LoginRecord) -> dict[str, Any]:
    times = ("created_at", "verified_at", "password_changed_at")
    return fields_of(login, "account_id", "email", "role", "second_factor", *times) | {"account_state": _state(login)}


def _session_line(each: SessionRecord) -> tuple[str, ...]:
    times = (moment(each.created_at), moment(each.last_seen_at), moment(each.expires_at))
    passed = "passed" if each.second_factor_at else "no"
    return (str(each.session_id), *times, each.ip or "unknown", each.agent, passed)


def _session_record(each: SessionRecord) -> dict[str, Any]:
    times = ("created_at", "last_seen_at", "expires_at", "second_factor_at")
    return fields_of(each, "session_id", "account_id", *times, "ip", "agent")


def _state(login: LoginRecord) -> str:
    return "closed" if login.account_closed else "disabled" if login.account_disabled else "open"


def _secret(asked: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{asked}: ")
    return sys.stdin.readline().rstrip("\r\n")
