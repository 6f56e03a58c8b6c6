"""Recheck the keys of suspended provider accounts: an account whose key is accepted again returns to the pool."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from tollkeeper.ports import ProviderAccount, Suspensions

ACTOR = "worker"

log = logging.getLogger(__name__)

FindAccounts = Callable[[], Awaitable[Sequence[ProviderAccount]]]
# Whether a provider accepts the account's key, and in which words.
ProbeKey = Callable[[ProviderAccount], Awaitable[tuple[bool, str]]]


async def recheck_suspended_accounts(find: FindAccounts, probe: ProbeKey, suspensions: Suspensions) -> None:
    for account in await find():
        accepted, told = await probe(account)
        if accepted and await suspensions.lift(account.id, actor=ACTOR):
            log.warning("provider account %s takes calls again: %s", account.name, told)
        elif not accepted:
            log.warning("provider account %s stays suspended: %s", account.name, told)
