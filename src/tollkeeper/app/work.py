"""The jobs beside the calls."""

import asyncio
import logging
import os
import secrets
import time
from functools import partial

from tollkeeper.app.books import book_reviewer_of
from tollkeeper.app.database import opened
from tollkeeper.app.first_look import why_not_ready
from tollkeeper.app.log_site import cleaning_turn_of, log_site_of
from tollkeeper.app.metrics import WorkerWatch, port_of
from tollkeeper.app.parts import abuse_policy_of, bookkeeper_of, low_balance_of, notifier_of
from tollkeeper.app.people import mailer_of
from tollkeeper.app.providers import probe_key
from tollkeeper.app.secrets import envelope_keys_of
from tollkeeper.app.webhooks import poster_of
from tollkeeper.jobs.announce_prices import announce_prices
from tollkeeper.jobs.check_the_books import NOT_CLEAN, check_the_books
from tollkeeper.jobs.clean_usage_log import clean_usage_log_in_turn, prepare_copy
from tollkeeper.jobs.close_stale_holds import Sweeper
from tollkeeper.jobs.deliver_webhooks import Courier
from tollkeeper.jobs.expire_lots import expire_lots
from tollkeeper.jobs.forget_closed_accounts import forget_closed_accounts
from tollkeeper.jobs.recheck_suspended_accounts import recheck_suspended_accounts
from tollkeeper.jobs.review_traffic import review_traffic
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.jobs.schedule import Job, Schedule
from tollkeeper.jobs.send_mail import Postman
from tollkeeper.jobs.send_notices import send_notices
from tollkeeper.jobs.turn_partitions import turn_partitions
from tollkeeper.jobs.watch_breakers import watch_breakers
from tollkeeper.providers.post import HttpPoster
from tollkeeper.settings import Settings
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.customers.brand import brand_on_file
from tollkeeper.storage.customers.closing import SqlClosedAccounts
from tollkeeper.storage.customers.notices import SqlAnnouncements, SqlNotices
from tollkeeper.storage.jobs.book import SqlJobBook
from tollkeeper.storage.ledger.old_claims import forget_old_claims
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.treasury import SqlTreasury
from tollkeeper.storage.limits.peaks import SqlTraffic
from tollkeeper.storage.people.old_logins import forget_old_logins
from tollkeeper.storage.people.outbox import SqlOutbox
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.revision import SchemaWatch
from tollkeeper.storage.providers.accounts import SqlSuspensions, suspended_accounts
from tollkeeper.storage.providers.reports import note_outages, pool_reports
from tollkeeper.storage.usage.cleaning import SqlCleanUsage
from tollkeeper.storage.usage.rollups import SqlRollups
from tollkeeper.storage.webhooks.deliveries import SqlDeliveries, forget_old_events, watch_key_budgets

RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


async def work(settings: Settings) -> None:
    """The jobs beside the calls, until cancelled."""
    async with opened(settings, DatabaseRole.WORKER) as database:
        schema = SchemaWatch(database)
        bookkeeper = bookkeeper_of(settings, database, serves=False)
        living = asyncio.create_task(bookkeeper.live())

        async def trouble() -> str:
            return await why_not_ready(database, schema) or bookkeeper.trouble

        watch, number = WorkerWatch(database), settings.work_metrics_port
        port = port_of(settings, "worker", number, watch.collect, why_not_ready=trouble)
        asked = asyncio.create_task(port.serve())
        sweeper = Sweeper(SqlOrphans(database), lambda: bookkeeper.ledger, time.monotonic)
        notifier, poster = notifier_of(settings), poster_of(settings)
        jobs = [
            Job("close_stale_holds", 2, sweeper.sweep, "holds closed"),
            *_jobs_of_accounts(settings, database),
            *_jobs_of_the_pool(settings, database, notifier),
            *_jobs_of_webhooks(settings, database, poster),
            *_jobs_of_time(settings, database),
        ]
        try:
            await _wait_for(schema)
            await Schedule(jobs, SqlJobBook(database, f"{settings.node}/{os.getpid()}")).run_forever()
        finally:
            living.cancel()
            asked.cancel()
            await asyncio.gather(living, asked, return_exceptions=True)
            await bookkeeper.close()
            await notifier.close()
            await poster.close()


async def _wait_for(schema: SchemaWatch) -> None:
    """Jobs know the schema of their build; one that is too old, or not there yet, is not worked on."""
    starting = RepeatedStep("start of the jobs")
    while not await starting.run(schema.check):  # noqa: ASYNC110 (whoever migrates does not say so)
        await asyncio.sleep(RETRY_SECONDS)
    if schema.newer:
        log.warning("%s", schema.newer)


def _jobs_of_accounts(settings: Settings, database: Database) -> list[Job]:
    policy = abuse_policy_of(settings)
    traffic = SqlTraffic(database, policy)
    postman = Postman(
        SqlOutbox(database, secrets.choice),
        mailer_of(settings),
        console_url=settings.console_url,
        brand=partial(brand_on_file, database),
    )
    low_balance = low_balance_of(settings)
    return [
        Job("send_mail", 2, postman.round, "mails sent"),
        Job("review_traffic", 5, lambda: review_traffic(traffic, policy), "accounts restricted"),
        Job("announce_prices", 60, lambda: announce_prices(SqlAnnouncements(database)), "mails written"),
        Job("send_notices", 600, lambda: send_notices(SqlNotices(database), low_balance), "mails written"),
        Job("forget_old_logins", 3_600, lambda: forget_old_logins(database)),
        Job(
            "forget_closed_accounts",
            3_600,
            lambda: forget_closed_accounts(SqlClosedAccounts(database)),
            "accounts forgotten",
        ),
    ]


def _jobs_of_the_pool(settings: Settings, database: Database, notifier: ChangeNotifier) -> list[Job]:
    suspended = partial(suspended_accounts, database, envelope_keys_of(settings))
    suspensions = SqlSuspensions(database, notifier)
    return [
        Job(
            # The job book of every database knows it by this name.
            "test_suspended_accounts",
            60,
            lambda: recheck_suspended_accounts(suspended, partial(probe_key, settings), suspensions),
        )
    ]


def _jobs_of_webhooks(settings: Settings, database: Database, poster: HttpPoster) -> list[Job]:
    courier = Courier(SqlDeliveries(database, envelope_keys_of(settings)), poster)
    heard = partial(pool_reports, database)
    return [
        Job("deliver_webhooks", 2, courier.round, "events delivered"),
        Job("watch_key_budgets", 60, lambda: watch_key_budgets(database), "keys near their budget"),
        Job("watch_breakers", 5, lambda: watch_breakers(heard, partial(note_outages, database)), "outages told"),
        Job("forget_old_events", 3_600, lambda: forget_old_events(database), "events forgotten"),
    ]


def _jobs_of_time(settings: Settings, database: Database) -> list[Job]:
    treasury, rollups, log = SqlTreasury(database), SqlRollups(database), SqlCleanUsage(database)
    site, turn = log_site_of(settings), cleaning_turn_of(settings)
    reviewer = book_reviewer_of(settings, database, actor="worker")

    async def clean() -> int:
        return len((await clean_usage_log_in_turn(log, site, turn)).days)

    return [
        Job("expire_lots", 600, lambda: expire_lots(treasury), "lots closed"),
        Job("roll_up_usage", 60, lambda: roll_up_usage(rollups), "days counted again"),
        Job("forget_old_claims", 3_600, lambda: forget_old_claims(database), "keys forgotten"),
        Job("turn_partitions", 3_600, lambda: turn_partitions(treasury)),
        Job("prepare_log_copy", 3_600, lambda: prepare_copy(log, site, turn), "days copied"),
        Job("clean_usage_log", 3_600, clean, "days cleaned"),
        Job("check_books", 86_400, lambda: check_the_books(reviewer.review), bad_verdict=NOT_CLEAN),
    ]
