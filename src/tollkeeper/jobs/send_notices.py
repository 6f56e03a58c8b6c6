"""Mail customers 30, 7 and 1 days before quota expires, when little of it is left, and when much was spent in a day.

Rules of this file
1. A round is a number of small steps, each a transaction of its own; what is left is done in the next round.
2. Each notice is given once, however often and by however many workers this is done.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports.customers.notices import Notices, NoticeStep

DAYS_BEFORE = (30, 7, 1)
# Of each kind of notice.
STEPS_MOST = 200

log = logging.getLogger(__name__)


async def send_notices(notices: Notices, low_balance: Quota) -> int:
    """One round; how many mails it put into the outbox."""
    expiring = [await _all(partial(notices.expiring, days)) for days in DAYS_BEFORE]
    low = [await _all(partial(notices.low_balances, low_balance, late=late)) for late in (False, True)]
    total = sum(expiring) + sum(low) + await notices.day_spends()
    if total:
        log.info("%d mails tell of quota that expires, is low or was spent", total)
    return total


async def _all(step: Callable[[], Awaitable[NoticeStep]]) -> int:
    total = 0
    for _ in range(STEPS_MOST):
        done = await step()
        total += done.mailed
        if not done.more:
            break
    return total
