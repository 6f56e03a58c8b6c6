"""Test the keys of suspended provider accounts, and give back to the pool those that are accepted again."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from tollkeeper.ports import ProviderAccount, Suspensions

log = logging.getLogger(__name__)

Find = Callable[[], Awaitable[Sequence[ProviderAccount]]]
Test = Callable[[ProviderAccount], Awaitable[tuple[bool, str]]]


async def test_suspended_accounts(find: Find, test: Test, suspensions: Suspensions) -> None:
    for account in await find():
        accepted, told = await test(account)
        if accepted and await suspensions.lift(account.id):
            log.warning("provider account %s takes calls again: %s", account.name, told)
        elif not accepted:
            log.warning("provider account %s stays suspended: %s", account.name, told)
