"""Customers' keys and accounts, as they and support keep them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from tollkeeper.core.client_ip import Network
from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports.treasury import Credit, Credited

# Of one account, not counting those that are revoked.
KEYS_MOST = 1_000


class KeyText(msgspec.Struct, frozen=True):
    """What is kept of a key's text: its digest, under which pepper, and what of it may be shown again."""

    pepper_version: int
    digest: bytes
    hint: str


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    name: str
    expires_at: datetime | None
    quota: Quota | None
    only_models: Collection[str] | None
    text: KeyText
    only_networks: Sequence[Network] | None = None
    daily_budget: Quota | None = None
    monthly_budget: Quota | None = None


class KeyOnFile(msgspec.Struct, frozen=True, kw_only=True):
    """A key as its owner sees it again: everything but its text."""

    key_id: int
    account_id: int
    name: str
    hint: str
    created_at: datetime
    rotated_at: datetime | None
    # Until when its text from before the rotation is accepted, too.
    former_until: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    paused_at: datetime | None
    quota: Quota | None
    used: Quota
    held: Quota
    # What counts against the budgets of this day and month (UTC): what was charged, and what calls of now hold.
    counted_today: Quota
    counted_this_month: Quota
    only_models: Sequence[str] | None
    only_networks: Sequence[Network] | None
    daily_budget: Quota | None
    monthly_budget: Quota | None
    # Of the console's chat: made, renewed and ended with a session, and changed by nobody.
    for_chat: bool = False


class KeyChange(msgspec.Struct, frozen=True, kw_only=True):
    """What of a key becomes different; what is not named stays. None: no limit."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    expires_at: datetime | msgspec.UnsetType | None = msgspec.UNSET
    quota: Quota | msgspec.UnsetType | None = msgspec.UNSET
    only_models: Sequence[str] | msgspec.UnsetType | None = msgspec.UNSET
    only_networks: Sequence[Network] | msgspec.UnsetType | None = msgspec.UNSET
    daily_budget: Quota | msgspec.UnsetType | None = msgspec.UNSET
    monthly_budget: Quota | msgspec.UnsetType | None = msgspec.UNSET


class KeyDesk(Protocol):
    async def create(self, key: NewKey, *, actor: str, reason: str = "") -> int:
        """Its number. `reason`: of staff. Raise NotOnFile, ExpiryPassed, or KeysFull."""
        ...

    async def of_account(self, account_id: int, *, chat_too: bool = False) -> Sequence[KeyOnFile]:
        """The newest first; of revoked ones, the newest few hundred; on request also those of the console's chat."""
        ...

    async def owner_of(self, key_id: int) -> int:
        """The account that has it, for operators, who name a key by its number alone. Raise NotOnFile."""
        ...

    async def change(self, key_id: int, change: KeyChange, *, account_id: int, actor: str) -> KeyOnFile:
        """The key as it is now. Raise NotOnFile for one that is revoked, unknown, or another account's; or
        ExpiryPassed."""
        ...

    async def rotate(
        self, key_id: int, text: KeyText, keep_seconds: int, *, account_id: int, actor: str, reason: str = ""
    ) -> None:
        """Give a key another text; the old one is accepted for so long. `reason`: of staff. Raise NotOnFile as
        `change` does, or OldTextKept: a key has one old text, and that would end before its time."""
        ...

    async def pause(self, key_id: int, *, account_id: int, actor: str) -> bool:
        """Refuse a key until it is resumed; calls that run go on. Whether that was news. Raise NotOnFile as `change`
        does."""
        ...

    async def resume(self, key_id: int, *, account_id: int, actor: str) -> bool:
        """Whether it was paused until now. Raise NotOnFile as `change` does."""
        ...

    async def revoke(self, key_id: int, *, account_id: int, actor: str) -> bool:
        """Whether the key was live until now. Raise NotOnFile for one that is unknown, or another account's."""
        ...


class AccountDesk(Protocol):
    async def create(self, name: str, group: str, *, actor: str) -> int: ...
    async def credit(self, credit: Credit, *, actor: str, reason: str = "") -> Credited: ...
    async def need(self, account_id: int) -> None:
        """Raise NotOnFile where there is no such account."""
        ...

    async def disable(self, account_id: int, reason: str, *, actor: str) -> bool:
        """Whether that was news; if so, its sessions are over. Its keys work for nobody until it is enabled. Raise
        NotOnFile."""
        ...

    async def enable(self, account_id: int, reason: str, *, actor: str) -> bool:
        """Whether that was news. Raise NotOnFile."""
        ...


class ExpiryPassed(ValueError):
    """A key that would have expired before it is made."""

    def __init__(self) -> None:
        super().__init__("The key would have expired already. Choose a time that is to come. Nothing was done.")


class KeysFull(ValueError):
    """An account that has as many keys as one may."""

    def __init__(self) -> None:
        super().__init__(f"The account has {KEYS_MOST} keys. Revoke one that is not used. Nothing was done.")


class OldTextKept(ValueError):
    """A key whose text from before the last rotation is still accepted."""

    def __init__(self, until: datetime) -> None:
        super().__init__(
            f"The text from before the last rotation is accepted until {until:%Y-%m-%d %H:%M:%S} UTC. Rotate after"
            " that, or keep no old text: then both end now. Nothing was done."
        )
