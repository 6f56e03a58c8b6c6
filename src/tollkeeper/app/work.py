"""The jobs beside the calls."""

import asyncio
import secrets
import time
from functools import partial

from tollkeeper.app.parts import (
    abuse_policy_of,
    bookkeeper_of,
    envelope_keys_of,
    mailer_of,
    nudges_of,
    opened,
    test_key,
)
from tollkeeper.jobs.close_stale_holds import Sweeper
from tollkeeper.jobs.expire_lots import expire_lots
from tollkeeper.jobs.review_traffic import review_traffic
from tollkeeper.jobs.schedule import Job, run_forever
from tollkeeper.jobs.send_mail import Postman
from tollkeeper.jobs.test_suspended_accounts import test_suspended_accounts
from tollkeeper.jobs.turn_partitions import turn_partitions
from tollkeeper.settings import Settings
from tollkeeper.storage.database import Part
from tollkeeper.storage.old_logins import forget_old_logins
from tollkeeper.storage.orphans import SqlOrphans
from tollkeeper.storage.outbox import SqlOutbox
from tollkeeper.storage.peaks import SqlTraffic
from tollkeeper.storage.provider_accounts import SqlSuspensions, suspended_accounts
from tollkeeper.storage.treasury import SqlTreasury


async def work(settings: Settings) -> None:
    """The jobs beside the calls, until cancelled."""
    async with opened(settings, Part.WORKER) as database:
        bookkeeper = bookkeeper_of(settings, database, serves=False)
        living = asyncio.create_task(bookkeeper.live())
        treasury = SqlTreasury(database)
        orphans = SqlOrphans(database)
        sweeper = Sweeper(orphans, lambda: bookkeeper.ledger, time.monotonic)
        nudges = nudges_of(settings)
        suspended = partial(suspended_accounts, database, envelope_keys_of(settings))
        suspensions = SqlSuspensions(database, nudges, actor="worker")
        test = partial(test_key, settings)
        policy = abuse_policy_of(settings)
        traffic = SqlTraffic(database, policy)
        outbox = SqlOutbox(database, secrets.choice)
        postman = Postman(outbox, mailer_of(settings), console_url=settings.console_url)
        try:
            await run_forever(
                [
                    Job("close_stale_holds", 2, sweeper.sweep),
                    Job("send_mail", 2, postman.round),
                    Job("review_traffic", 5, lambda: review_traffic(traffic, policy)),
                    Job("expire_lots", 600, lambda: expire_lots(treasury)),
                    Job("forget_old_logins", 3600, lambda: forget_old_logins(database)),
                    Job("turn_partitions", 3600, lambda: turn_partitions(treasury)),
                    Job("test_suspended_accounts", 60, partial(test_suspended_accounts, suspended, test, suspensions)),
                ]
            )
        finally:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)
            await bookkeeper.close()
            await nudges.close()
