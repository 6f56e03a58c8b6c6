"""Operator keys: what a program or a command line shows to act for staff, and what each of them may do.

    OperatorKeyRefusal
    ├── OperatorKeyMissing     nothing was shown
    ├── OperatorKeyNotKnown    the same for one that is none, revoked, expired, or of a login that is staff no more
    ├── OperatorKeyElsewhere   it is known, and does not work from this network
    └── ScopeMissing           it is known, and may do other things

Rules of this file
1. An operator key is `op-` and 48 base-62 characters (285 bits of chance). Only its SHA-256 digest is kept: nobody can
   try so many, so there is nothing for a pepper to protect.
2. Every scope includes reading. `everything` includes every scope, and making further operator keys.
3. A key always expires, and never gives more than its maker has.
"""

import hashlib
import inspect
import re
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from tollkeeper.core.client_ip import Ip, Network, is_in
from tollkeeper.core.keys import BASE_62, CHANCE_LENGTH
from tollkeeper.core.people.logins import Role

LIFETIME_MOST = timedelta(days=366)

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*$"
NAME_CHARACTERS_MOST = 64

_FORM = re.compile(rf"op-[0-9A-Za-z]{{{CHANCE_LENGTH}}}")


class Scope(StrEnum):
    """What an operator key may do."""

    READ = "read"
    # Customers: their keys, logins, bans, restrictions.
    SUPPORT = "support"
    # Credits, refunds, withdrawals, codes.
    MONEY = "money"
    # Models, prices, groups, provider accounts.
    CATALOG = "catalog"
    EVERYTHING = "everything"


ROLE_SCOPES = {
    Role.CUSTOMER: frozenset[Scope](),
    Role.SUPPORT: frozenset({Scope.READ, Scope.SUPPORT}),
    Role.OPERATOR: frozenset({Scope.EVERYTHING}),
}


class OperatorKeyRefusal(ValueError):
    """The request is refused, whatever it asked for."""

    status = 401
    code = "operator_key_not_valid"

    def __init__(self) -> None:
        super().__init__(" ".join(inspect.cleandoc(type(self).__doc__ or "").split()))


class OperatorKeyMissing(OperatorKeyRefusal):
    """No operator key was sent. Send it as `Authorization: Bearer op-…`; an operator makes one with
    `tollkeeper operator-key create`. Nothing was done."""

    code = "operator_key_missing"


class OperatorKeyNotKnown(OperatorKeyRefusal):
    """The operator key is not known, was revoked, or has expired. Ask an operator for a new one. Nothing was done."""


class OperatorKeyElsewhere(OperatorKeyRefusal):
    """The operator key does not work from this network. Use it from one that it was made for. Nothing was done."""

    status = 403
    code = "operator_key_not_for_this_network"


class ScopeMissing(OperatorKeyRefusal):
    """The operator key may not do this. Its scopes are shown by `tollkeeper operator-key show`, and by
    `GET /admin/v1/operator-key`. Nothing was done."""

    status = 403
    code = "scope_missing"


class BadOperatorKeyName(ValueError):
    """It stands in the audit trail and in addresses, so it is plain."""

    def __init__(self) -> None:
        super().__init__(
            f"An operator key's name has 1 to {NAME_CHARACTERS_MOST} characters: small letters, digits, '.', '_' and "
            "'-', of which the first is a letter or a digit. Nothing was done."
        )


class OperatorKeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An operator key, without its text."""

    id: int
    # By this name the audit trail knows who holds it.
    name: str
    hint: str
    scopes: frozenset[Scope]
    only_networks: tuple[Network, ...] | None
    created_at: datetime
    created_by: str
    expires_at: datetime
    # By the database's clock, which set the time of everything else on file.
    expired: bool
    revoked_at: datetime | None
    last_used_at: datetime | None
    # The staff login that it belongs to; None: a program's.
    account_id: int | None
    # Of that login, now; None where there is none.
    login_role: Role | None = None
    login_disabled: bool = False

    @property
    def rights(self) -> frozenset[Scope]:
        """What it may do now: no more than the login that it belongs to."""
        if self.account_id is None:
            return self.scopes
        of_login = ROLE_SCOPES[self.login_role or Role.CUSTOMER]
        return frozenset(scope for scope in self.scopes if may(of_login, scope))

    @property
    def actor(self) -> str:
        return f"operator:{self.name}"


def may(scopes: Collection[Scope], needed: Scope) -> bool:
    return Scope.EVERYTHING in scopes or needed in scopes or (needed is Scope.READ and bool(scopes))


def require_usable(record: OperatorKeyRecord | None, client: Ip | None) -> OperatorKeyRecord:
    """Raise OperatorKeyNotKnown, or OperatorKeyElsewhere."""
    if record is None or record.revoked_at is not None or record.expired:
        raise OperatorKeyNotKnown
    if record.login_disabled or not record.rights:
        raise OperatorKeyNotKnown
    if record.only_networks is not None and (client is None or not is_in(client, record.only_networks)):
        raise OperatorKeyElsewhere
    return record


def mint_operator_key(choose: Callable[[str], str]) -> str:
    """`choose` picks one character of a string by chance fit for secrets."""
    return "op-" + "".join(choose(BASE_62) for _ in range(CHANCE_LENGTH))


def checked_key_name(name: str) -> str:
    """Raise BadOperatorKeyName."""
    if len(name) > NAME_CHARACTERS_MOST or not re.fullmatch(NAME_PATTERN.strip("^$"), name):
        raise BadOperatorKeyName
    return name


def has_operator_key_form(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


def operator_key_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
