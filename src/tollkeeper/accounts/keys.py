"""Keys: made once, shown once."""

from collections.abc import Callable, Collection
from datetime import datetime

import msgspec

from tollkeeper.core.keys import NAME_LENGTH_MOST, Peppers, hint, mint
from tollkeeper.core.money import Quota
from tollkeeper.ports import KeyDesk, NewKey


class KeyWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner of an account asks for."""

    account_id: int
    name: str
    expires_at: datetime | None = None
    quota: Quota | None = None
    only_models: Collection[str] | None = None


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


async def create_key(wish: KeyWish, maker: KeyMaker, desk: KeyDesk, *, actor: str) -> IssuedKey:
    """Make a key and file its digest. The key itself is in the result and nowhere else."""
    name = wish.name.strip()
    if not name:
        raise ValueError("A key needs a name, to tell it from others.")
    if len(name) > NAME_LENGTH_MOST:
        raise NameTooLong(f"The name has {len(name)} characters; shorten it to {NAME_LENGTH_MOST} or fewer.")
    key = mint(maker.cell, maker.choose)
    version = maker.peppers.newest
    key_id = await desk.create(
        NewKey(
            account_id=wish.account_id,
            name=name,
            expires_at=wish.expires_at,
            quota=wish.quota,
            only_models=wish.only_models,
            pepper_version=version,
            digest=maker.peppers.digest(key, version),
            hint=hint(key),
        ),
        actor=actor,
    )
    return IssuedKey(key_id, key)
