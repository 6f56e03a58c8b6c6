"""Mail price changes to customers who used the model, and withdrawals to customers who had mail of the change.

Rules of this file
1. A round is a number of small steps, each a transaction of its own; what is left is done in the next round.
2. Each account is written to once for each change, however often and by however many workers this is done.
"""

import logging

from tollkeeper.ports.customers.notices import Announcements

# Of one hour of calls each: those of a change are looked through within one round.
STEPS_MOST = 1_000

log = logging.getLogger(__name__)


async def announce_prices(announcements: Announcements) -> int:
    """One round; how many mails it put into the outbox."""
    total = 0
    for _ in range(STEPS_MOST):
        told = await announcements.step()
        if told is None:
            break
        total += told
    if total:
        log.info("%d mails tell of prices that change", total)
    return total
