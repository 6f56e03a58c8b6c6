"""Passkeys: what is kept of one, for whom it is made, and what is said where one cannot be used.

Rules of this file
1. A passkey is made for one address (`RelyingParty`), and browsers use it nowhere else.
2. Whatever is wrong with an answer of a device, people are told the same.
"""

from datetime import datetime

import msgspec

from tollkeeper.core.people.logins import LoginRefusal

PASSKEYS_MOST = 20
PASSKEY_NAME_MOST = 60


class RelyingParty(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for a passkey: the host that it is bound to, our address as browsers write it, and our name."""

    host: str
    origin: str
    name: str


class PasskeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    passkey_id: int
    account_id: int
    # What its owner calls it.
    name: str
    credential_id: bytes
    public_key: bytes
    # Chance, by which the device knows whose it is. The same for all passkeys of an account.
    user_handle: bytes
    # How often it was used, by its own count; 0 of one that does not count.
    sign_count: int
    transports: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime | None


class MadePasskey(msgspec.Struct, frozen=True, kw_only=True):
    """What a device made, once its answer was found right."""

    credential_id: bytes
    public_key: bytes
    sign_count: int
    transports: tuple[str, ...]


class PasskeyRefused(LoginRefusal):
    """This passkey was not accepted. Try again, or sign in with your password."""


class PasskeyNotAdded(LoginRefusal):
    """What your device answered cannot be used, or came too late. Nothing was added. Begin again."""


class PasskeysFull(LoginRefusal):
    """An account has 20 passkeys at most. Remove one that you do not use."""


class BadPasskeyName(LoginRefusal):
    """The name of a passkey has 1 to 60 characters."""
