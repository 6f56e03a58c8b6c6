"""Remove what is kept of the people behind closed accounts, once support need not open them again."""

import logging
from datetime import timedelta

from tollkeeper.accounts.people.closing import KEPT_DAYS
from tollkeeper.ports.customers.closing import ClosedAccounts

log = logging.getLogger(__name__)


async def forget_closed_accounts(accounts: ClosedAccounts) -> int:
    """One round; of how many accounts."""
    forgotten = await accounts.forget(timedelta(days=KEPT_DAYS))
    if forgotten:
        log.info("%d closed accounts were forgotten", forgotten)
    return forgotten
