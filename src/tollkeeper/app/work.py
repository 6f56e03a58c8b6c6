"""The jobs beside the calls."""

import asyncio
import os
import secrets
import time
from decimal import Decimal
from functools import partial

from tollkeeper.app.log_site import cleaning_turn_of, log_site_of
from tollkeeper.app.parts import (
    abuse_policy_of,
    bookkeeper_of,
    envelope_keys_of,
    mailer_of,
    nudges_of,
    opened,
    test_key,
)
from tollkeeper.core.money import quota_from_usd
from tollkeeper.jobs.announce_prices import announce_prices
from tollkeeper.jobs.check_the_books import check_the_books
from tollkeeper.jobs.clean_usage_log import clean_usage_log_in_turn, prepare_copy
from tollkeeper.jobs.close_stale_holds import Sweeper
from tollkeeper.jobs.expire_lots import expire_lots
from tollkeeper.jobs.review_traffic import review_traffic
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.jobs.schedule import Job, Schedule
from tollkeeper.jobs.send_mail import Postman
from tollkeeper.jobs.send_notices import send_notices
from tollkeeper.jobs.test_suspended_accounts import test_suspended_accounts
from tollkeeper.jobs.turn_partitions import turn_partitions
from tollkeeper.settings import Settings
from tollkeeper.storage.books import check_books
from tollkeeper.storage.changes import Nudges
from tollkeeper.storage.database import Database, Part
from tollkeeper.storage.job_book import SqlJobBook
from tollkeeper.storage.notices import SqlAnnouncements, SqlNotices
from tollkeeper.storage.old_logins import forget_old_logins
from tollkeeper.storage.orphans import SqlOrphans
from tollkeeper.storage.outbox import SqlOutbox
from tollkeeper.storage.peaks import SqlTraffic
from tollkeeper.storage.provider_accounts import SqlSuspensions, suspended_accounts
from tollkeeper.storage.treasury import SqlTreasury
from tollkeeper.storage.usage_cleaning import SqlCleanUsage
from tollkeeper.storage.usage_rollups import SqlRollups


async def work(settings: Settings) -> None:
    """The jobs beside the calls, until cancelled."""
    async with opened(settings, Part.WORKER) as database:
        bookkeeper = bookkeeper_of(settings, database, serves=False)
        living = asyncio.create_task(bookkeeper.live())
        sweeper = Sweeper(SqlOrphans(database), lambda: bookkeeper.ledger, time.monotonic)
        nudges = nudges_of(settings)
        jobs = [
            Job("close_stale_holds", 2, sweeper.sweep, "holds closed"),
            *_jobs_of_accounts(settings, database),
            *_jobs_of_the_pool(settings, database, nudges),
            *_jobs_of_time(settings, database),
        ]
        try:
            await Schedule(jobs, SqlJobBook(database, f"{settings.node}/{os.getpid()}")).run_forever()
        finally:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)
            await bookkeeper.close()
            await nudges.close()


def _jobs_of_accounts(settings: Settings, database: Database) -> list[Job]:
    policy = abuse_policy_of(settings)
    traffic = SqlTraffic(database, policy)
    postman = Postman(SqlOutbox(database, secrets.choice), mailer_of(settings), console_url=settings.console_url)
    low_balance = quota_from_usd(Decimal(settings.low_balance_usd))
    return [
        Job("send_mail", 2, postman.round, "mails sent"),
        Job("review_traffic", 5, lambda: review_traffic(traffic, policy), "accounts restricted"),
        Job("announce_prices", 60, lambda: announce_prices(SqlAnnouncements(database)), "mails written"),
        Job("send_notices", 600, lambda: send_notices(SqlNotices(database), low_balance), "mails written"),
        Job("forget_old_logins", 3_600, lambda: forget_old_logins(database)),
    ]


def _jobs_of_the_pool(settings: Settings, database: Database, nudges: Nudges) -> list[Job]:
    suspended = partial(suspended_accounts, database, envelope_keys_of(settings))
    suspensions = SqlSuspensions(database, nudges, actor="worker")
    return [
        Job(
            "test_suspended_accounts",
            60,
            lambda: test_suspended_accounts(suspended, partial(test_key, settings), suspensions),
        )
    ]


def _jobs_of_time(settings: Settings, database: Database) -> list[Job]:
    treasury, rollups, log = SqlTreasury(database), SqlRollups(database), SqlCleanUsage(database)
    site, turn = log_site_of(settings), cleaning_turn_of(settings)

    async def clean() -> int:
        return len((await clean_usage_log_in_turn(log, site, turn)).days)

    return [
        Job("expire_lots", 600, lambda: expire_lots(treasury), "lots closed"),
        Job("roll_up_usage", 60, lambda: roll_up_usage(rollups), "days counted again"),
        Job("turn_partitions", 3_600, lambda: turn_partitions(treasury)),
        Job("prepare_log_copy", 3_600, lambda: prepare_copy(log, site, turn), "days copied"),
        Job("clean_usage_log", 3_600, clean, "days cleaned"),
        Job("check_books", 86_400, lambda: check_the_books(partial(check_books, database))),
    ]
