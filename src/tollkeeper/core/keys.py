"""API keys: their form, their digest, and whether a known key may be used now.

Rules of this file
1. A key is `sk-`, one character that names the cell, and 48 base-62 characters (285 bits of chance).
2. Nothing but its digest is kept: HMAC-SHA256 under a pepper. Peppers have versions and can be rotated.
3. A reason for refusal is given only for keys that exist.
"""

import hmac
import re
import string
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from tollkeeper.core.client_ip import Ip, Network, is_in
from tollkeeper.core.errors import AccountDisabled, KeyExpired, KeyNotForThisNetwork, KeyPaused, KeyRevoked

BASE_62 = string.digits + string.ascii_letters
CHANCE_LENGTH = 48
NAME_LENGTH_MOST = 64

KEY_CHARACTERS = len("sk-") + 1 + CHANCE_LENGTH

_FORM = re.compile(rf"sk-[0-9A-Za-z]{{{1 + CHANCE_LENGTH}}}")
_IN_WORDS = re.compile(_FORM.pattern.encode())


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the gateway knows of a key and its account, without balances."""

    key_id: int
    account_id: int
    group: str
    only_models: frozenset[str] | None
    expires_at: datetime | None
    revoked: bool
    account_disabled: bool
    restricted_until: datetime | None = None
    only_networks: tuple[Network, ...] | None = None
    # Whether its account has ever had quota that was neither poured nor given as a gift.
    has_paid: bool = True
    paused: bool = False


class Peppers(msgspec.Struct, frozen=True):
    """The secrets under which keys are digested, by version. New keys use the chosen one: the oldest, unless somebody
    said that all nodes know a newer one by now."""

    by_version: Mapping[int, bytes]
    chosen: int = 0

    @property
    def in_use(self) -> int:
        return self.chosen or min(self.by_version)

    def older_than(self, version: int) -> list[int]:
        return [each for each in self.by_version if each < version]

    def digest(self, key: str, version: int) -> bytes:
        return hmac.digest(self.by_version[version], key.encode(), "sha256")

    def digests(self, key: str) -> list[bytes]:
        """Under every version, newest first: an old key must still be found after a rotation."""
        return [self.digest(key, version) for version in sorted(self.by_version, reverse=True)]


def mint(cell: str, choose: Callable[[str], str]) -> str:
    """Make a new key; `choose` picks one character of a string by chance fit for secrets."""
    return f"sk-{cell}" + "".join(choose(BASE_62) for _ in range(CHANCE_LENGTH))


def derive(cell: str, seed: bytes) -> str:
    """The key that follows from a secret of at least 64 bytes: so many that every character is as likely."""
    number, found = int.from_bytes(seed), ""
    for _ in range(CHANCE_LENGTH):
        number, digit = divmod(number, len(BASE_62))
        found += BASE_62[digit]
    return f"sk-{cell}{found}"


def has_key_form(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


def hint(key: str) -> str:
    """What of a key may be shown again, for its owner to recognise it."""
    return f"{key[:4]}…{key[-4:]}"


def without_keys(told: bytes) -> bytes:
    """The same words, with the hint of a key in the place of each: what is told to a caller may end in the caller's
    log."""
    return _IN_WORDS.sub(lambda found: hint(found[0].decode()).encode(), told)


def require_usable(record: KeyRecord, now: datetime, client: Ip | None) -> None:
    """Raise the reason why a key that exists may not be used at `now`, by that client."""
    if record.revoked:
        raise KeyRevoked
    if record.expires_at is not None and record.expires_at <= now:
        raise KeyExpired
    if record.paused:
        raise KeyPaused
    if record.account_disabled:
        raise AccountDisabled
    if record.only_networks is not None and (client is None or not is_in(client, record.only_networks)):
        raise KeyNotForThisNetwork
