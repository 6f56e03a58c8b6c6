"""Close lots that expired, a day after they did."""

import logging
from datetime import timedelta

from tollkeeper.ports import Treasury

GRACE = timedelta(hours=24)

log = logging.getLogger(__name__)


async def expire_lots(treasury: Treasury) -> int:
    """One round; how many it closed."""
    closed = await treasury.close_lots(GRACE)
    if closed:
        log.info("%d lots expired and were closed", closed)
    return closed
