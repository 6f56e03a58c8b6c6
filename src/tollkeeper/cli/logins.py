"""Logins: `login list`, `show`, `open`, `role`, `sessions`, `revoke-sessions`, `reset-password`, `drop-second-factor`,
`unlock`, and what people do themselves: `sign-up`, `verify`, `sign-in`. Secrets come from standard input, never as
arguments. Whoever can run these has the service's own secrets, so they act as operators and nothing locks them out."""

import asyncio
import getpass
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from tollkeeper.accounts.front_desk import FrontDesk, Visitor, without_lockouts
from tollkeeper.accounts.sign_in import Credentials, SignedIn, sign_in
from tollkeeper.accounts.sign_up import SignUpWish, open_account, request_sign_up, verify_sign_up
from tollkeeper.accounts.staff import (
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
from tollkeeper.cli.customers import AccountId
from tollkeeper.cli.speak import complain, say, settings_or_complain, show
from tollkeeper.core.logins import Actor, LoginRefusal, Role, SessionRecord
from tollkeeper.ports.logins import LoginRecord

login_app = typer.Typer(help="Who may act for accounts.", no_args_is_help=True)

# Nobody's browser: at the command line there is neither an IP nor an agent.
HERE = Visitor(agent="command line")

Done = TypeVar("Done")
Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The e-mail to sign in with.")]
Whom = Annotated[str, typer.Argument(metavar="EMAIL|ACCOUNT", help="The e-mail, or the account's number.")]
Name = Annotated[str, typer.Option(help="What to call the account. Without it: the e-mail.")]


def register(app: typer.Typer) -> None:
    app.add_typer(login_app, name="login")


@login_app.command("list")
def list_logins(staff: Annotated[bool, typer.Option("--staff", help="Only support and operators.")] = False) -> None:
    """The logins, the newest first."""

    async def work(desk: FrontDesk, me: Actor) -> Sequence[LoginRecord]:
        return await listed_logins(desk, staff_only=staff, by=me)

    table = Table("account", "e-mail", "role", "second factor", "account is")
    for login in _do(work):
        factor = "on" if login.second_factor else "off"
        table.add_row(*map(Text, (str(login.account_id), login.email, login.role.value, factor, _state(login))))
    show(table)


@login_app.command("show")
def show_login(whom: Whom) -> None:
    """One login."""

    async def work(desk: FrontDesk, me: Actor) -> LoginRecord:
        return await login_of(desk, _meant(whom), by=me)

    login = _do(work)
    verified = moment(login.verified_at) if login.verified_at else "never"
    say(f"account {login.account_id}: {login.email}, {login.role.value}")
    say(f"verified {verified}; password of {moment(login.password_changed_at)}")
    say(f"second factor {'on' if login.second_factor else 'off'}, account {_state(login)}")


@login_app.command("open")
def open_login(email: Email, name: Name = "") -> None:
    """Open an account with a login at once, for somebody you know. The password is read from standard input."""
    wish, password = SignUpWish(email=email, name=name), _secret("Password")

    async def work(desk: FrontDesk, me: Actor) -> int:
        return await open_account(desk, wish, password, by=me)

    say(f"account {_do(work)}")


@login_app.command("role")
def role(account: AccountId, role: Annotated[Role, typer.Argument(help="The role to give.")]) -> None:
    """Make somebody support, operator or customer. Their sessions end."""

    async def work(desk: FrontDesk, me: Actor) -> bool:
        return await set_role(desk, account, role, by=me)

    news = _do(work)
    say(f"account {account} has the role {role.value}" + ("" if news else ", as it had before"))


@login_app.command("sessions")
def sessions(whom: Whom) -> None:
    """Where somebody is signed in."""

    async def work(desk: FrontDesk, me: Actor) -> tuple[int, Sequence[SessionRecord]]:
        account = (await login_of(desk, _meant(whom), by=me)).account_id
        return account, await sessions_of(desk, account, by=me)

    account, found = _do(work)
    table = Table("session", "since", "last seen", "until", "ip", "agent", "second factor")
    for each in found:
        times = (moment(each.created_at), moment(each.last_seen_at), moment(each.expires_at))
        passed = "passed" if each.second_factor_at else "no"
        table.add_row(*map(Text, (str(each.session_id), *times, each.ip or "unknown", each.agent, passed)))
    if found:
        show(table)
    else:
        say(f"account {account} is signed in nowhere")


@login_app.command("revoke-sessions")
def revoke_sessions(whom: Whom) -> None:
    """Sign somebody out everywhere."""

    async def work(desk: FrontDesk, me: Actor) -> tuple[int, int]:
        account = (await login_of(desk, _meant(whom), by=me)).account_id
        return account, await end_sessions(desk, account, by=me)

    account, ended = _do(work)
    say(f"{ended} sessions of account {account} ended")


@login_app.command("reset-password")
def reset(whom: Whom) -> None:
    """Send a link for a new password."""

    async def work(desk: FrontDesk, me: Actor) -> int:
        return await send_reset(desk, _meant(whom), by=me)

    say(f"A link is on its way to the e-mail of account {_do(work)}.")


@login_app.command("unlock")
def unlock_login(whom: Whom) -> None:
    """End the locks that too many attempts at signing in or redeeming brought about, whoever made them."""

    async def work(desk: FrontDesk, me: Actor) -> int:
        return await unlock(desk, _meant(whom), by=me)

    say(f"{_do(work)} locks ended")


@login_app.command("drop-second-factor")
def drop(whom: Whom) -> None:
    """For somebody who lost the app and all recovery codes, and has shown otherwise who they are. They are told, and
    their sessions end."""

    async def work(desk: FrontDesk, me: Actor) -> tuple[int, bool]:
        account = (await login_of(desk, _meant(whom), by=me)).account_id
        return account, await drop_second_factor(desk, account, by=me)

    account, had_one = _do(work)
    say(f"account {account} has no second factor " + ("any more" if had_one else "and had none"))


@login_app.command("sign-up")
def sign_up(
    email: Email,
    name: Name = "",
    gift_code: Annotated[str, typer.Option(help="Of the invite: its last five characters.")] = "",
) -> None:
    """Ask for an account, as anybody may."""
    wish = SignUpWish(email=email, name=name, gift_code=gift_code)

    async def work(desk: FrontDesk, _: Actor) -> None:
        await request_sign_up(without_lockouts(desk), wish, HERE)

    _do(work)
    say("A mail is on its way. The account opens with `login verify` and the token of its link.")


@login_app.command("verify")
def verify(
    gift_code: Annotated[
        str | None, typer.Option(help="Instead of the one that was asked with; an empty one drops that.")
    ] = None,
) -> None:
    """Open the account of a sign-up. Read from standard input: the token of its link and, on a second line, the
    password to choose."""
    token, password = _secret("Token"), _secret("Password")

    async def work(desk: FrontDesk, _: Actor) -> int:
        return await verify_sign_up(desk, token, password, gift_code=gift_code)

    say(f"account {_do(work)}")


@login_app.command("sign-in")
def sign_in_here(email: Email) -> None:
    """Sign in. Read from standard input: the password and, on a second line, a code of the second factor if there is
    one."""
    given = Credentials(email=email, password=_secret("Password"), code=_secret("Code, if any"))

    async def work(desk: FrontDesk, _: Actor) -> SignedIn:
        return await sign_in(without_lockouts(desk), given, HERE)

    signed_in = _do(work)
    say(f"account {signed_in.account_id}, session {signed_in.session_id}\n{signed_in.token}")


def _meant(whom: str) -> int | str:
    """An account's number, or an e-mail: every one of these has an @."""
    return int(whom) if re.fullmatch("[0-9]{1,18}", whom) else whom


def _state(login: LoginRecord) -> str:
    return "disabled" if login.account_disabled else "open"


def _secret(asked: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{asked}: ")
    return sys.stdin.readline().rstrip("\r\n")


def _do(work: Callable[[FrontDesk, Actor], Awaitable[Done]]) -> Done:
    """Do it at the front desk; what is refused is told in its own words."""

    async def at_the_desk() -> Done:
        async with office(settings_or_complain()) as desk:
            return await work(desk.front_desk, Actor(desk.actor, Role.OPERATOR))

    try:
        return asyncio.run(at_the_desk())
    except LoginRefusal as refusal:
        complain(str(refusal))
        raise typer.Exit(1) from None
