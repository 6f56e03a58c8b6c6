"""Balances: what an account or a key has left, has used, and what its running calls hold.

Rules of this file
1. Held quota is neither remaining nor used. Debt is taken off. Nothing shows below zero.
2. A lot bound to a key counts for that key and in the account's total, nowhere else.
3. A key without a quota of its own reports what it could draw: the account's free lots and its bound ones.
"""

import msgspec

from tollkeeper.core.money.amounts import Quota


class BalanceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures behind both balances of one key, read at one instant."""

    free_lots: int
    lots_bound_to_key: int
    lots_bound_elsewhere: int
    debt: int
    account_used: int
    account_held: int
    key_quota: int | None
    key_used: int
    key_held: int


class Balance(msgspec.Struct, frozen=True):
    remaining: Quota
    used: Quota
    held: Quota


def of_account(standing: BalanceFigures) -> Balance:
    lots = standing.free_lots + standing.lots_bound_to_key + standing.lots_bound_elsewhere
    return Balance(_at_least_zero(lots - standing.debt), Quota(standing.account_used), Quota(standing.account_held))


def of_key(standing: BalanceFigures) -> Balance:
    if standing.key_quota is None:
        remaining = standing.free_lots + standing.lots_bound_to_key - standing.debt
    else:
        remaining = standing.key_quota - standing.key_used - standing.key_held
    return Balance(_at_least_zero(remaining), Quota(standing.key_used), Quota(standing.key_held))


def _at_least_zero(amount: int) -> Quota:
    return Quota(max(0, amount))
