"""The faucet: a key with a little quota of its own, for nothing."""

from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.people.faucet import Networks
from tollkeeper.ports.customers.desks import KeyText


class FaucetTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's figures."""

    amount: Quota
    # After so long the key and its lot expire.
    days: int = 30
    # Grants in 24 hours to one network, and to everybody together.
    per_network: int = 10
    per_day: int = 1_000


class FaucetWish(msgspec.Struct, frozen=True, kw_only=True):
    account_id: int
    networks: Networks
    key_name: str
    key_text: KeyText


class Poured(StrEnum):
    GRANTED = "granted"
    UNVERIFIED = "unverified"
    TOO_SOON = "too_soon"
    NETWORK_FULL = "network_full"
    DAY_FULL = "day_full"
    UNKNOWN_ACCOUNT = "unknown_account"
    ACCOUNT_DISABLED = "account_disabled"


class FaucetOutcome(msgspec.Struct, frozen=True):
    verdict: Poured
    key_id: int | None = None
    # When the key expires; or, where it was too soon or too many, when to come again.
    until: datetime | None = None


class Faucet(Protocol):
    async def grant(self, wish: FaucetWish, terms: FaucetTerms, *, actor: str) -> FaucetOutcome:
        """Once in 24 hours by the database's clock, to an account and to a person, however many ask at once."""
        ...
