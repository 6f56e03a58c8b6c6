"""The control plane's desks: quota coming in, keys, accounts, the catalog."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol

import msgspec

from tollkeeper.core.catalog import Kind
from tollkeeper.core.client_ip import Network
from tollkeeper.core.media import MediaLimits
from tollkeeper.core.money import Quota
from tollkeeper.core.one_line import one_line
from tollkeeper.core.quote import TokenLimits


class Credit(msgspec.Struct, frozen=True, kw_only=True):
    """Quota coming in. The same source id is credited once, however often it is sent."""

    account_id: int
    amount: Quota
    source: str
    source_id: str
    months: int = 0
    days: int = 0
    key_id: int | None = None

    def __post_init__(self) -> None:
        one_line(self.source_id, "The id of a credit")


class Credited(msgspec.Struct, frozen=True, kw_only=True):
    lot_id: int
    expires_at: datetime
    replayed: bool


class Revoked(msgspec.Struct, frozen=True):
    """What a revocation took back from a lot, and what is now owed because it was spent."""

    revoked: Quota
    owed: Quota


class Treasury(Protocol):
    """Quota coming in, and the ends of lots."""

    async def credit(self, credit: Credit) -> Credited: ...
    async def extend_lot(self, lot_id: int, until: datetime) -> bool: ...
    async def close_lots(self, grace: timedelta) -> int:
        """Close what expired more than `grace` ago; how many lots that were."""
        ...

    async def turn_partitions(self, keep_holds: timedelta) -> None:
        """Prepare the ledger's tables for the days ahead, and drop closed holds that are older than `keep_holds`."""
        ...

    async def revoke(self, lot_id: int) -> Revoked: ...


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
    quota: Quota | None
    used: Quota
    held: Quota
    only_models: Sequence[str] | None
    only_networks: Sequence[Network] | None
    daily_budget: Quota | None
    monthly_budget: Quota | None


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
    async def create(self, key: NewKey, *, actor: str) -> int:
        """Its number. Raise NotOnFile, or ExpiryPassed."""
        ...

    async def of_account(self, account_id: int) -> Sequence[KeyOnFile]:
        """The newest first, revoked ones too."""
        ...

    async def owner_of(self, key_id: int) -> int:
        """The account that has it, for operators, who name a key by its number alone. Raise NotOnFile."""
        ...

    async def change(self, key_id: int, change: KeyChange, *, account_id: int, actor: str) -> KeyOnFile:
        """The key as it is now. Raise NotOnFile for one that is revoked, unknown, or another account's; or
        ExpiryPassed."""
        ...

    async def rotate(self, key_id: int, text: KeyText, keep_seconds: int, *, account_id: int, actor: str) -> None:
        """Give a key another text; the old one is accepted for so long. Raise NotOnFile as `change` does, or
        OldTextKept: a key has one old text, and that would end before its time."""
        ...

    async def revoke(self, key_id: int, *, account_id: int, actor: str) -> bool:
        """Whether the key was live until now. Raise NotOnFile for one that is unknown, or another account's."""
        ...


class AccountDesk(Protocol):
    async def create(self, name: str, group: str, *, actor: str) -> int: ...
    async def credit(self, credit: Credit, *, actor: str) -> Credited: ...
    async def disable(self, account_id: int, reason: str, *, actor: str) -> bool:
        """Whether that was news; if so, its sessions are over. Its keys work for nobody until it is enabled. Raise
        NotOnFile."""
        ...

    async def enable(self, account_id: int, reason: str, *, actor: str) -> bool:
        """Whether that was news. Raise NotOnFile."""
        ...


class NewPrice(msgspec.Struct, frozen=True, kw_only=True):
    """A row for the price book: in force from now on, or from the instant it names."""

    model: Decimal
    completion: Decimal = Decimal(1)
    cached: Decimal = Decimal(1)
    effective_from: datetime | None = None
    # Of an image, its size and quality.
    variant: str = ""


class NewModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: Kind
    price: NewPrice
    # Prices of further variants.
    more_prices: Sequence[NewPrice] = ()
    limits: TokenLimits = TokenLimits()
    media: MediaLimits = MediaLimits()
    only_groups: Collection[str] | None = None

    def __post_init__(self) -> None:
        for text in (self.id, *(price.variant for price in (self.price, *self.more_prices))):
            one_line(text, "The name of a model or of its variant")


class CatalogDesk(Protocol):
    async def add_model(self, model: NewModel, *, actor: str) -> None: ...

    async def chat_models(self) -> Sequence[str]:
        """Their ids, the oldest first."""
        ...


class ExpiryPassed(ValueError):
    """A key that would have expired before it is made."""

    def __init__(self) -> None:
        super().__init__("The key would have expired already. Choose a time that is to come. Nothing was done.")


class OldTextKept(ValueError):
    """A key whose text from before the last rotation is still accepted."""

    def __init__(self, until: datetime) -> None:
        super().__init__(
            f"The text from before the last rotation is accepted until {until:%Y-%m-%d %H:%M:%S} UTC. Rotate after"
            " that, or keep no old text: then both end now. Nothing was done."
        )


class NotOnFile(LookupError):
    """What was named does not exist; the message says which."""


class AlreadyOnFile(ValueError):
    """What was to be made exists already; the message says which."""
