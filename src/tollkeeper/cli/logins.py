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
from tollkeeper.accounts.people.sign_up import SignUpWish, request_sign_up, verify_sign_up
from tollkeeper.app.office import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import AccountId, MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_json, show_list
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.reset_words import asked_words
from tollkeeper.cli.speak import say, settings_or_complain
from tollkeeper.core.people.logins import LoginRefusal, Role
from tollkeeper.office import logins
from tollkeeper.office.factor_resets import drop_login_passkeys, drop_login_second_factor
from tollkeeper.office.logins import LoginsWish, LoginView, NewLoginWish, RoleWish, SessionView
from tollkeeper.office.wishes import AccountReason, AccountWish
from tollkeeper.ports import NotOnFile

# How many `login list` shows.
LISTED_MOST = 1_000

login_app = typer.Typer(help="Who may act for accounts.", no_args_is_help=True)

# The command line has neither an IP nor a user agent.
HERE = RequestOrigin(agent="command line")

# Why a mail waits, by the setting that is missing.
NOT_SENT = {
    "TOLLKEEPER_SMTP_URL": "A mail is written, but none is sent: TOLLKEEPER_SMTP_URL names no mail server.",
    "TOLLKEEPER_CONSOLE_URL": "A mail is written, but none is sent: its link leads to the console, and "
    "TOLLKEEPER_CONSOLE_URL does not say where that is.",
}

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
    found = await every_page(logins.list_logins, LoginsWish(staff_only=staff), LISTED_MOST)
    head = ("account", "e-mail", "role", "second factor", "account is")
    show_list(found, head=head, line=_line, record=_record, as_json=as_json)


@login_app.command("show")
@command(LoginRefusal)
async def show_login(whom: Whom, as_json: AsJson = False) -> None:
    """One login."""
    login = await perform(logins.show_login, await _meant(whom))
    if as_json:
        show_json(_record(login))
        return
    verified = moment(login.verified_at) if login.verified_at else "never"
    say(f"account {login.account}: {login.email}, {login.role.value}")
    say(f"verified {verified}; password of {moment(login.password_changed_at)}")
    say(f"second factor {'on' if login.second_factor else 'off'}, account {login.account_state.value}")


@login_app.command("open")
@command(ValueError)
def open_login(email: Email, name: AccountName = "", reason: MaybeReason = "") -> Coroutine[None, None, None]:
    """Open an account with a login at once, for somebody you know. The password is read from standard input."""
    return _open(NewLoginWish(email=email, name=name, password=_secret("Password"), reason=reason))


async def _open(wish: NewLoginWish) -> None:
    made = await perform(logins.open_login, wish)
    say(f"account {made.account}")


@login_app.command("role")
@command(LoginRefusal)
async def role(
    account: AccountId, role: Annotated[Role, typer.Argument(help="The role to give.")], reason: Reason
) -> None:
    """Make somebody support, operator or customer. Their sessions end."""
    done = await perform(logins.set_login_role, RoleWish(account=account, role=role, reason=reason_in(reason)))
    say(f"account {account} has the role {role.value}" + ("" if done.changed else ", as it had before"))


@login_app.command("sessions")
@command(LoginRefusal)
async def sessions(whom: Whom, as_json: AsJson = False) -> None:
    """Where somebody is signed in."""
    meant = await _meant(whom)
    show_list(
        (await perform(logins.list_sessions, meant)).data,
        head=("session", "since", "last seen", "until", "ip", "agent", "second factor"),
        line=_session_line,
        record=_session_record,
        as_json=as_json,
        none=f"account {meant.account} is signed in nowhere",
    )


@login_app.command("revoke-sessions")
@command(LoginRefusal)
async def revoke_sessions(whom: Whom, reason: Reason) -> None:
    """Sign somebody out everywhere."""
    wish = await _about(whom, reason)
    ended = await perform(logins.end_login_sessions, wish)
    say(f"{ended.count} sessions of account {wish.account} ended")


@login_app.command("reset-password")
@command(LoginRefusal)
async def reset(whom: Whom, reason: Reason) -> None:
    """Send a link for a new password."""
    sent = await perform(logins.send_login_reset, await _about(whom, reason))
    if missing := sent.setting_missing:
        say(f"{NOT_SENT.get(missing, missing)} The link to account {sent.account} waits, for a day.")
    else:
        say(f"A link is on its way to the e-mail of account {sent.account}.")


@login_app.command("unlock")
@command(LoginRefusal)
async def unlock_login(whom: Whom, reason: Reason) -> None:
    """End the locks that too many attempts at signing in or redeeming brought about, whoever made them."""
    ended = await perform(logins.unlock_login, await _about(whom, reason))
    say(f"{ended.count} locks ended")


@login_app.command("drop-second-factor")
@command(LoginRefusal)
async def drop(whom: Whom, reason: Reason) -> None:
    """For somebody who lost the app and all recovery codes, and has shown otherwise who they are. With an operator key:
    another member of staff confirms it. They are told, and their sessions end."""
    wish = await _about(whom, reason)
    say(asked_words(await perform(drop_login_second_factor, wish), "a second factor"))


@login_app.command("drop-passkeys")
@command(LoginRefusal)
async def drop_every_passkey(whom: Whom, reason: Reason) -> None:
    """For somebody whose account somebody else was in, or who lost every device. With an operator key: another member
    of staff confirms it. They are told, and their sessions end."""
    wish = await _about(whom, reason)
    say(asked_words(await perform(drop_login_passkeys, wish), "passkeys"))


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
        missing = desk.mail_setting_missing
    if missing:
        say(f"{NOT_SENT[missing]} It waits. `login open` opens an account without one.")
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


async def _meant(whom: str) -> AccountWish:
    """An account's number, or an e-mail: every one of these has an @. Raise NotOnFile."""
    if re.fullmatch("[0-9]{1,18}", whom):
        return AccountWish(account=int(whom))
    found = (await perform(logins.list_logins, LoginsWish(email=whom))).data
    if not found:
        raise NotOnFile("No login has this e-mail.")
    return AccountWish(account=found[0].account)


async def _about(whom: str, reason: str) -> AccountReason:
    """Raise NotOnFile, or Mistake for the reason."""
    why = reason_in(reason)
    return AccountReason(account=(await _meant(whom)).account, reason=why)


def _line(login: LoginView) -> tuple[str, ...]:
    factor = "on" if login.second_factor else "off"
    return (str(login.account), login.email, login.role.value, factor, login.account_state.value)


def _record(login: LoginView) -> dict[str, Any]:
    times = ("created_at", "verified_at", "password_changed_at")
    told = fields_of(login, "email", "role", "second_factor", *times, "account_state")
    return {"account_id": login.account} | told


def _session_line(each: SessionView) -> tuple[str, ...]:
    times = (moment(each.created_at), moment(each.last_seen_at), moment(each.expires_at))
    passed = "passed" if each.second_factor_at else "no"
    return (str(each.session), *times, each.ip or "unknown", each.agent, passed)


def _session_record(each: SessionView) -> dict[str, Any]:
    times = ("created_at", "last_seen_at", "expires_at", "second_factor_at")
    numbers = {"session_id": each.session, "account_id": each.account}
    return numbers | fields_of(each, *times, "ip", "agent")


def _secret(asked: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{asked}: ")
    return sys.stdin.readline().rstrip("\r\n")
