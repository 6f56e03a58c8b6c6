"""Amounts as they are told: in USD for people, in whole units for programs."""

import msgspec

from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.partner.plan import usd_of_micros


class Amount(msgspec.Struct, frozen=True):
    """Prepaid quota. `usd` is exact."""

    micro_quota: int
    usd: str


class Cash(msgspec.Struct, frozen=True):
    """Money: what a code was sold for, or what a partner earned. `usd` is exact."""

    micro_usd: int
    usd: str


def amount_of(quota: int) -> Amount:
    return Amount(quota, usd_exact(Quota(quota)))


def cash_of(micro_usd: int) -> Cash:
    return Cash(micro_usd, usd_of_micros(micro_usd))
