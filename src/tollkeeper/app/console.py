"""The console: its desks, put together for one worker process."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import msgspec
from starlette.applications import Starlette

from tollkeeper.accounts.chat import ChatDesk, ChatKeyMaker
from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.accounts.people.second_factor import FrontDeskSecondFactor
from tollkeeper.app.database import database_of
from tollkeeper.app.first_look import why_not_ready
from tollkeeper.app.log_site import log_site_of
from tollkeeper.app.metrics import port_of
from tollkeeper.app.office import office_of
from tollkeeper.app.parts import faucet_terms_of, low_balance_of, main_url_of, notifier_of, referral_terms_of
from tollkeeper.app.people import front_desk_of
from tollkeeper.app.secrets import mark_of, peppers_of
from tollkeeper.console.admin.application import AdminDesk, admin
from tollkeeper.console.application import console as application
from tollkeeper.console.counting import CountedPages, PageFigures
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.turns import Turns
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.settings import Settings
from tollkeeper.storage.catalog.models import SqlCatalog
from tollkeeper.storage.catalog.price_desk import SqlPriceDesk
from tollkeeper.storage.catalog.price_list import SqlPriceList
from tollkeeper.storage.customers.announcements import SqlAnnouncementDesk
from tollkeeper.storage.customers.brand import SqlBrandBook
from tollkeeper.storage.customers.chat_keys import SqlChatKeys
from tollkeeper.storage.customers.closing import SqlClosings
from tollkeeper.storage.customers.disputes import SqlDisputes
from tollkeeper.storage.customers.faucet import SqlFaucet
from tollkeeper.storage.customers.key_desk import SqlKeyDesk
from tollkeeper.storage.customers.lot_desk import SqlLotDesk
from tollkeeper.storage.customers.month_statements import SqlStatements
from tollkeeper.storage.customers.notice_choices import SqlNoticeDesk
from tollkeeper.storage.customers.redemption import SqlRedemptions
from tollkeeper.storage.customers.sent_forms import SqlSentForms
from tollkeeper.storage.customers.wallet import SqlWallets
from tollkeeper.storage.partner.plan import SqlPartnerDesk
from tollkeeper.storage.people.operator_requests import SqlRequestBook
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.out_of_range import refusal_in_words
from tollkeeper.storage.usage.log import SqlUsageLog
from tollkeeper.storage.usage.receipts import SqlReceipts

log = logging.getLogger(__name__)

SIGNAL_CONNECTIONS = 2
# After so many of the gateway's signs of life did not come, it is taken for gone.
SILENCES = 4
# A statement of a busy month takes long. With connections of their own, statements keep no other page waiting.
STATEMENT_CONNECTIONS = 2


def console(settings: Settings) -> Starlette:
    """The ASGI application of one worker process."""
    forbid_core_dumps(inspectable=settings.inspectable)
    if settings.console_url.startswith("https://") and not settings.trusted_proxies:
        # TLS is spoken by a proxy, so whoever connects is that proxy.
        log.warning(
            "TOLLKEEPER_TRUSTED_PROXIES is empty: all visitors seem to come from one address, so that wrong passwords "
            "of one lock everybody out. Name the networks of the proxy before the console."
        )
    database = database_of(settings, DatabaseRole.CONSOLE)
    signals = database_of(settings, DatabaseRole.CONSOLE, connections=SIGNAL_CONNECTIONS)
    # Long sessions leave one to short ones, of which there are none.
    reports = database_of(settings, DatabaseRole.CONSOLE, connections=STATEMENT_CONNECTIONS + 1)
    changes, notifier = Changes(signals), notifier_of(settings)
    desks = desks_of(settings, database, changes, notifier)
    desks = msgspec.structs.replace(desks, statements=SqlStatements(reports))
    figures = PageFigures()
    port = port_of(
        settings, "console", settings.console_metrics_port, figures.collect, processes=settings.console_workers
    )

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await database.open()
        await signals.open()
        await reports.open()
        following = asyncio.gather(changes.follow(), port.serve())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await desks.chat.gateway.close()
            await notifier.close()
            await reports.close()
            await signals.close()
            await database.close()

    site = site_of(settings)
    desk = AdminDesk(
        desks.office,
        SqlRequestBook(database),
        site.trusted_proxies,
        desks.database_words,
        Turns(),
    )
    made = application(desks, site, life=life, admin=admin(desk))
    made.add_middleware(CountedPages, figures=figures)
    return made


def desks_of(settings: Settings, database: Database, changes: Changes, notifier: ChangeNotifier) -> Desks:
    front_desk, now = front_desk_of(settings, database), partial(_now, changes)
    return Desks(
        front_desk=front_desk,
        second_factor=FrontDeskSecondFactor(front_desk),
        wallets=SqlWallets(database),
        sent_forms=SqlSentForms(database),
        closings=SqlClosings(database, notifier),
        notices=SqlNoticeDesk(database),
        announcements=SqlAnnouncementDesk(database),
        brand=SqlBrandBook(database, changes),
        low_balance=low_balance_of(settings),
        keys=SqlKeyDesk(database, notifier),
        key_maker=KeyMaker(settings.cell, peppers_of(settings), secrets.choice),
        lots=SqlLotDesk(database),
        statements=SqlStatements(database),
        redemptions=SqlRedemptions(database),
        referral_terms=referral_terms_of(settings),
        partners=SqlPartnerDesk(database),
        faucet=SqlFaucet(database),
        faucet_terms=faucet_terms_of(settings),
        usage=SqlUsageLog(database),
        log_site=log_site_of(settings),
        receipts=SqlReceipts(database),
        disputes=SqlDisputes(database),
        catalog=SqlCatalog(database, changes),
        prices=SqlPriceDesk(database, notifier),
        price_list=SqlPriceList(database, changes),
        chat=_chat_desk(settings, database),
        office=msgspec.structs.replace(office_of(settings, database, notifier, actor="console"), now=now),
        database_words=refusal_in_words,
        now=now,
        why_not_ready=partial(why_not_ready, database, changes.schema),
    )


def _now(changes: Changes) -> datetime:
    """By the database's clock, as keys and lots are judged; by this machine's, until the database has told the time."""
    return changes.now() if changes.knows_time else datetime.now(UTC)


def _chat_desk(settings: Settings, database: Database) -> ChatDesk:
    return ChatDesk(
        keys=SqlChatKeys(database),
        maker=ChatKeyMaker(settings.cell, peppers_of(settings), mark_of(settings, b"chat").encode()),
        gateway=HttpUpstream(
            connect_seconds=settings.connect_seconds,
            # It says every now and then that it is still there.
            idle_seconds=settings.keep_alive_seconds * SILENCES,
            private_allowed=True,
        ),
        gateway_url=(settings.console_gateway_url or main_url_of(settings)).rstrip("/"),
        gateway_host=settings.main_hosts[0] if settings.main_hosts else "",
        patience_seconds=float(settings.longest_seconds),
    )


def site_of(settings: Settings) -> Site:
    return Site(
        name=settings.console_name,
        console_url=settings.console_url.rstrip("/"),
        main_url=main_url_of(settings),
        sends_mail=bool(settings.smtp_url),
        trusted_proxies=read_networks(settings.trusted_proxies),
        secret=mark_of(settings, b"console").encode(),
    )
