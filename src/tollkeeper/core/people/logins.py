"""Logins: roles, tokens, how long a session lives, and what is said to people who are not let in.

    LoginRefusal
    ├── WrongCredentials      the same whether the e-mail is known or not
    ├── SecondFactorNeeded    the password was right
    ├── WrongCode
    ├── TooManyAttempts       the same whether what they were aimed at exists or not
    ├── TooBusy               nothing was judged, and nothing is counted
    ├── LoginDisabled · AccountClosed
    ├── SessionOver
    ├── RoleMissing
    ├── ReadingOnly
    ├── LinkNotValid · AccountThere
    ├── SecondFactorMissing · SecondFactorThere
    ├── PasskeyRefused        the same whether such a passkey is known or not
    ├── PasskeyNotAdded · PasskeysFull · BadPasskeyName
    ├── EmailUnchanged · NotThisEmail
    └── NotAnEmail · BadPassword · BadName · BadInvite

Rules of this file
1. The docstring of a refusal is its message: what happened, and what to do next.
2. A token has 256 bits of chance. Nothing but its digest is kept.
3. Staff have no session without a second factor; until they have one, theirs is good for nothing but setting it up.
"""

import hashlib
import inspect
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from tollkeeper.core.keys import BASE_62

TOKEN_LENGTH = 43
AGENT_CHARACTERS_MOST = 200


class Role(StrEnum):
    CUSTOMER = "customer"
    SUPPORT = "support"
    OPERATOR = "operator"

    @property
    def is_staff(self) -> bool:
        return self is not Role.CUSTOMER


class LoginRefusal(ValueError):
    """This cannot be done."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join(inspect.cleandoc(type(self).__doc__ or "").split()))


class WrongCredentials(LoginRefusal):
    """The e-mail or the password is not right. Check both, or ask for a new password."""


class SecondFactorNeeded(LoginRefusal):
    """This login has a second factor. Send the code that your app shows now, or a recovery code."""


class WrongCode(LoginRefusal):
    """The code is not right, or was used before. Wait for the next one, or use a recovery code."""


class TooManyAttempts(LoginRefusal):
    """There were too many attempts."""

    def __init__(self, until: datetime) -> None:
        self.until = until
        super().__init__(f"There were too many attempts. Try again after {until:%Y-%m-%d %H:%M:%S} UTC.")


class TooBusy(LoginRefusal):
    """Too many people are signing in at this moment. Nothing was done, and nothing was counted. Try again in a
    moment."""


class LoginDisabled(LoginRefusal):
    """This account is disabled. Write to support."""


class AccountClosed(LoginRefusal):
    """This account was closed by its owner. Support can open it again for 30 days after that."""


class EmailUnchanged(LoginRefusal):
    """This is the e-mail of this account already. Nothing was changed."""


class NotThisEmail(LoginRefusal):
    """This is not the e-mail of this account. Type it as it is written there. Nothing was done."""


class SessionOver(LoginRefusal):
    """This session is over. Sign in again."""


class RoleMissing(LoginRefusal):
    """This is for staff, or for staff of a higher role. Nothing was done."""


class ReadingOnly(LoginRefusal):
    """You read as a customer, and nothing can be changed meanwhile. Stop reading first. Nothing was done."""


class LinkNotValid(LoginRefusal):
    """This link is not valid any more. Ask for a new one."""


class AccountThere(LoginRefusal):
    """The account is there already. Sign in, or ask for a new password where you sign in."""


class SecondFactorMissing(LoginRefusal):
    """This needs a second factor, and the account has none. Set one up first."""


class SecondFactorThere(LoginRefusal):
    """The account has a second factor already. Turn that off first."""


class BadName(LoginRefusal):
    """A name has 1 to 120 characters."""


class BadInvite(LoginRefusal):
    """The code of an invite has five characters. Copy it again, or leave it out."""


class Actor(msgspec.Struct, frozen=True):
    """Who acts on what is another's: the name by which the audit trail knows them, and their role."""

    name: str
    role: Role


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One sign-in of an account, and what of the account matters to it."""

    session_id: int
    account_id: int
    role: Role
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    ip: str
    agent: str
    second_factor_at: datetime | None
    revoked_at: datetime | None
    # Of the account, now.
    has_second_factor: bool
    account_disabled: bool

    @property
    def passed_second_factor(self) -> bool:
        return self.has_second_factor and self.second_factor_at is not None


class SessionStanding(StrEnum):
    WHOLE = "whole"
    # Good for setting up a second factor, and for nothing else.
    NEEDS_SECOND_FACTOR = "needs a second factor"
    OVER = "over"


class Lifetime(msgspec.Struct, frozen=True):
    longest: timedelta
    idle: timedelta


LIFETIMES = {
    Role.CUSTOMER: Lifetime(longest=timedelta(days=30), idle=timedelta(days=7)),
    Role.SUPPORT: Lifetime(longest=timedelta(hours=12), idle=timedelta(hours=1)),
    Role.OPERATOR: Lifetime(longest=timedelta(hours=12), idle=timedelta(hours=1)),
}


def standing(session: SessionRecord, now: datetime) -> SessionStanding:
    """What a session is good for at `now`."""
    idle_since = now - session.last_seen_at
    over = session.revoked_at is not None or session.account_disabled or session.expires_at <= now
    if over or idle_since >= LIFETIMES[session.role].idle:
        return SessionStanding.OVER
    if session.role.is_staff and not session.passed_second_factor:
        return SessionStanding.NEEDS_SECOND_FACTOR
    return SessionStanding.WHOLE


def mint_token(choose: Callable[[str], str]) -> str:
    """Make a token; `choose` picks one character of a string by chance fit for secrets."""
    return "".join(choose(BASE_62) for _ in range(TOKEN_LENGTH))


def readable_agent(text: str) -> str:
    """What a browser calls itself, fit to be shown: it may call itself anything."""
    return "".join(character for character in text if character.isprintable())[:AGENT_CHARACTERS_MOST]


def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
