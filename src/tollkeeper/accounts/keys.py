"""Keys: made once, shown once; changed and rotated by their owner. Another's key is as unknown as one that is none."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

import msgspec

from tollkeeper.core.client_ip import Network
from tollkeeper.core.keys import NAME_LENGTH_MOST, Peppers, hint, mint
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.one_line import one_line
from tollkeeper.ports import KeyChange, KeyDesk, KeyOnFile, KeyText, NewKey

# For how long the old text of a rotated key may go on being accepted.
KEEP_SECONDS_MOST = 7 * 86_400
NETWORKS_MOST = 100


class KeyWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner of an account asks for."""

    account_id: int
    name: str
    expires_at: datetime | None = None
    quota: Quota | None = None
    only_models: Collection[str] | None = None
    only_networks: Sequence[Network] | None = None
    daily_budget: Quota | None = None
    monthly_budget: Quota | None = None


class IssuedKey(msgspec.Struct, frozen=True):
    key_id: int
    key: str


class NameTooLong(ValueError):
    """A key name that must be shortened."""


class KeyMaker(msgspec.Struct, frozen=True):
    """What making a key takes besides the wish: the cell, the peppers and chance."""

    cell: str
    peppers: Peppers
    choose: Callable[[str], str]

    def make(self) -> tuple[str, KeyText]:
        """A new key, and what may be kept of it."""
        key, version = mint(self.cell, self.choose), self.peppers.in_use
        return key, KeyText(version, self.peppers.digest(key, version), hint(key))


async def create_key(wish: KeyWish, maker: KeyMaker, desk: KeyDesk, *, actor: str, reason: str = "") -> IssuedKey:
    """Make a key and file its digest. The key itself is in the result and nowhere else. `reason`: of staff."""
    key, text = maker.make()
    order = NewKey(
        account_id=wish.account_id,
        name=checked_name(wish.name),
        expires_at=wish.expires_at,
        quota=wish.quota,
        only_models=wish.only_models,
        text=text,
        only_networks=checked_networks(wish.only_networks),
        daily_budget=wish.daily_budget,
        monthly_budget=wish.monthly_budget,
    )
    return IssuedKey(await desk.create(order, actor=actor, reason=reason), key)


async def change_key(key_id: int, change: KeyChange, desk: KeyDesk, *, account_id: int, actor: str) -> KeyOnFile:
    if change.name is not msgspec.UNSET:
        change = msgspec.structs.replace(change, name=checked_name(change.name))
    if change.only_networks is not msgspec.UNSET:
        checked_networks(change.only_networks)
    return await desk.change(key_id, change, account_id=account_id, actor=actor)


async def rotate_key(
    key_id: int, keep_seconds: int, maker: KeyMaker, desk: KeyDesk, *, account_id: int, actor: str
) -> IssuedKey:
    """Another text for the same key: its quota, budgets, lots and history stay. The old one is accepted for so long.
    Raise OldTextKept where the one before is still kept, and ValueError for too long a time."""
    if not 0 <= keep_seconds <= KEEP_SECONDS_MOST:
        raise ValueError(f"The old key can be kept for {KEEP_SECONDS_MOST // 86_400} days at most.")
    key, text = maker.make()
    await desk.rotate(key_id, text, keep_seconds, account_id=account_id, actor=actor)
    return IssuedKey(key_id, key)


def checked_name(name: str) -> str:
    name = name.strip()
    if not name:
        raise ValueError("A key needs a name, to tell it from others.")
    one_line(name, "A key's name")
    if len(name) > NAME_LENGTH_MOST:
        raise NameTooLong(f"The name has {len(name)} characters; shorten it to {NAME_LENGTH_MOST} or fewer.")
    return name


def checked_networks(networks: Sequence[Network] | None) -> Sequence[Network] | None:
    if networks is not None and not 1 <= len(networks) <= NETWORKS_MOST:
        raise ValueError(f"A key is bound to 1 to {NETWORKS_MOST} networks, or to none.")
    return networks
