"""Logins: who may act for an account, their sessions, their second factors, and attempts at them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from tollkeeper.core.errors import ForOperators
from tollkeeper.core.people.lockout import Subject
from tollkeeper.core.people.logins import Role, SessionRecord
from tollkeeper.core.people.mails import Mail, MailKind


class LoginRecord(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    email: str
    password_hash: str
    role: Role
    verified_at: datetime | None
    created_at: datetime
    password_changed_at: datetime
    second_factor: bool
    account_disabled: bool
    # By its owner; it is disabled, too.
    account_closed: bool


class SignUpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What anybody may ask for with anybody's e-mail; so it holds nothing by which the account could be entered."""

    email: str
    name: str
    # Of the invite by which they came.
    gift_code: str | None


class FiledSignUp(msgspec.Struct, frozen=True):
    """What stands behind a link, and whether its e-mail has an account by now."""

    request: SignUpRequest
    account_there: bool


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever has the mail decides: the password, and by whose invite they come, if by any."""

    token_digest: bytes
    password_hash: str
    gift_code: str | None


class SignUps(Protocol):
    async def request(self, request: SignUpRequest) -> None:
        """File it, and have its e-mail written to; whether that has a login is not looked at."""
        ...

    async def look(self, token_digest: bytes) -> FiledSignUp | None:
        """What stands behind a link, while it is valid and after it was used; nothing changes."""
        ...

    async def open(self, opening: Opening) -> int | None:
        """Use a link up: the account, opened and invited at once, where the link is valid. A gift code that nobody
        has is no hindrance. Raise AlreadyOnFile."""
        ...

    async def open_at_once(self, request: SignUpRequest, password_hash: str, *, actor: str) -> int:
        """Open an account for an e-mail that an operator vouches for. Raise AlreadyOnFile."""
        ...


class Logins(Protocol):
    async def find(self, email: str) -> LoginRecord | None: ...
    async def of(self, account_id: int) -> LoginRecord:
        """Raise NotOnFile."""
        ...

    async def listed(self, *, staff_only: bool, before: int | None, limit: int) -> Sequence[LoginRecord]:
        """The newest first; `before`: only those of accounts with smaller numbers."""
        ...

    async def set_role(self, account_id: int, role: Role, *, actor: str) -> bool:
        """Whether that was news; if so, its sessions are over. Raise NotOnFile."""
        ...

    async def rehash(self, account_id: int, old_hash: str, new_hash: str) -> None:
        """The same password under today's parameters."""
        ...

    async def change_password(self, login: LoginRecord, new_hash: str, *, keep_session_id: int | None) -> bool:
        """Whether it was still as it is on the record. Every other session is over, and every link for a new one."""
        ...

    async def request_reset(self, email: str) -> None:
        """Have it written to, if it has a login; whether it has is not looked at now."""
        ...

    async def send_reset(self, account_id: int, *, actor: str) -> None:
        """Have the owner written to, on the record. Raise NotOnFile."""
        ...

    async def email_to_reset(self, token_digest: bytes) -> str | None:
        """Whose password a valid link is for."""
        ...

    async def reset_password(self, token_digest: bytes, new_hash: str) -> int | None:
        """The account, where the link was still valid; all its sessions are over."""
        ...


class PasskeyUse(msgspec.Struct, frozen=True):
    """By which passkey somebody signs in, and its count from then on."""

    passkey_id: int
    sign_count: int


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session for a login as it was when it was checked."""

    login: LoginRecord
    digest: bytes
    lasts: timedelta
    ip: str
    agent: str
    # None: by a password.
    passkey: PasskeyUse | None = None


class Sessions(Protocol):
    async def open(self, session: NewSession) -> int | None:
        """Its number; none where password, role or second factor changed, the account was disabled, or the passkey was
        removed or used again, since the login was checked."""
        ...

    async def find(self, digest: bytes) -> tuple[SessionRecord, datetime] | None:
        """With the time by the database. It counts as seen now if it is still good for something."""
        ...

    async def of(self, account_id: int) -> tuple[Sequence[SessionRecord], datetime]:
        """Sessions that were not revoked and have not expired, the newest first."""
        ...

    async def revoke(self, account_id: int, session_id: int, *, actor: str) -> bool:
        """Whether the account had such a session until now."""
        ...

    async def revoke_all(self, account_id: int, *, keep_session_id: int | None, actor: str) -> int: ...


class Lockouts(Protocol):
    async def begin(self, subjects: Sequence[Subject]) -> None:
        """Count one attempt at each. Raise TooManyAttempts, and count nothing, where one of them is locked."""
        ...

    async def take_back(self, subjects: Sequence[Subject]) -> None:
        """This attempt did not fail."""
        ...

    async def forget(self, subjects: Sequence[Subject]) -> None:
        """Whoever this was, it was the right one: earlier attempts are forgiven too."""
        ...

    async def let_in(self, email: str) -> None:
        """Forget every attempt at signing in with an e-mail, from wherever. Those at second factors stay."""
        ...

    async def clear(self, login: LoginRecord, *, actor: str) -> int:
        """Forget every attempt at a login, from wherever, and of its account at codes, on the record; how many locks
        that ended."""
        ...


class PasswordHashes(Protocol):
    """Each raises TooBusy where too many wait."""

    async def hash(self, password: str) -> str: ...
    async def matches(self, password_hash: str | None, password: str) -> bool:
        """It takes as long where there is no hash to compare with."""
        ...

    def is_dated(self, password_hash: str) -> bool:
        """Whether it was made with other parameters than those of today."""
        ...


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """A code of the proposed second factor, and what is kept once it fits. The session goes on under another token."""

    account_id: int
    session_id: int
    code: str
    recovery_digests: Collection[bytes]
    token_digest: bytes


class SecondFactors(Protocol):
    async def propose(self, account_id: int, secret: str) -> bool:
        """Keep a secret until it is confirmed; not where one is confirmed already."""
        ...

    async def confirm(self, confirmation: Confirmation) -> bool:
        """Turn the proposed one on, if the code is its own; the account's other sessions are over, and its owner is
        told."""
        ...

    async def use(self, account_id: int, code: str) -> bool:
        """Whether this is a code of the account's, used for the first time."""
        ...

    async def turn_off(self, account_id: int, *, keep_session_id: int | None, actor: str) -> bool:
        """Whether it was on; if so, every other session is over, and the owner is told."""
        ...


class SecondFactor(Protocol):
    async def check(self, account_id: int, code: str) -> bool:
        """Whether this is a code of the account's, used for the first time; never where it has no second factor. Raise
        TooManyAttempts."""
        ...


class ClaimedMail(msgspec.Struct, frozen=True):
    """A mail that this process is to send, and at which attempt."""

    outbox_id: int
    attempts: int


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """What to send to whom. Its token was made for it and is nowhere else."""

    email: str
    kind: MailKind
    token: str
    # What the mail names.
    figures: Mapping[str, str | int] | None = None


class Outbox(Protocol):
    async def claim(self) -> Sequence[ClaimedMail]:
        """A few mails that are due, claimed for two minutes; none: nothing is due. The attempt is counted now."""
        ...

    async def letter(self, claim: ClaimedMail) -> Letter | None:
        """None where there is nobody to write to: then it is given up."""
        ...

    async def sent(self, outbox_id: int) -> None: ...
    async def give_up(self, outbox_id: int) -> None: ...
    async def give_up_old(self) -> int:
        """Give up mails that have waited for a day. How many there were."""
        ...

    async def waiting(self) -> int: ...


class MailNotSent(ForOperators):
    """A mail that the server did not take: now, or for good. The message names neither e-mail nor content."""

    def __init__(self, message: str, *, for_good: bool) -> None:
        super().__init__(message)
        self.for_good = for_good


class Mailer(Protocol):
    async def send(self, email: str, mail: Mail) -> None:
        """Raise MailNotSent."""
        ...
