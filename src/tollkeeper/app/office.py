"""The operator's desks, for the length of one command."""

import getpass
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.accounts.people.second_factor import FrontDeskSecondFactor
from tollkeeper.app.database import opened
from tollkeeper.app.parts import abuse_policy_of, faucet_terms_of, notifier_of, referral_terms_of
from tollkeeper.app.people import front_desk_of
from tollkeeper.app.provider_terms import provider_terms
from tollkeeper.app.providers import probe_key, trial_of
from tollkeeper.app.secrets import envelope_keys_of, peppers_of
from tollkeeper.core.client_ip import read_networks
from tollkeeper.office.desks import Office
from tollkeeper.ports.house import SettingRecord
from tollkeeper.settings import PREFIX, Secret, Settings, description, sources
from tollkeeper.storage.catalog.groups import SqlGroupDesk
from tollkeeper.storage.catalog.model_desk import SqlCatalogDesk
from tollkeeper.storage.catalog.price_desk import SqlPriceDesk
from tollkeeper.storage.catalog.price_preview import ReadingBounds
from tollkeeper.storage.customers.accounts import SqlAccountDesk
from tollkeeper.storage.customers.announcements import SqlAnnouncementDesk
from tollkeeper.storage.customers.brand import SqlBrandDesk
from tollkeeper.storage.customers.disputes import SqlDisputes
from tollkeeper.storage.customers.faucet import SqlFaucet
from tollkeeper.storage.customers.key_desk import SqlKeyDesk
from tollkeeper.storage.customers.lot_desk import SqlLotDesk
from tollkeeper.storage.customers.month_statements import SqlStatements
from tollkeeper.storage.customers.redemption import SqlCodeDesk, SqlRedemptions
from tollkeeper.storage.customers.roster import SqlRoster
from tollkeeper.storage.customers.secret_desk import SqlSecretDesk
from tollkeeper.storage.customers.timelines import SqlTimelines
from tollkeeper.storage.jobs.book import jobs_on_record
from tollkeeper.storage.limits.abuse_desk import SqlAbuseDesk
from tollkeeper.storage.partner.plan import SqlPartnerDesk
from tollkeeper.storage.people.operator_keys import SqlOperatorKeys
from tollkeeper.storage.postgres.audit import SqlAuditTrail
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.house import house_facts
from tollkeeper.storage.postgres.nodes import nodes_on_record
from tollkeeper.storage.providers.accounts import SqlSuspensions
from tollkeeper.storage.providers.desk import SqlProviderDesk
from tollkeeper.storage.providers.figures import SqlProviderFigures
from tollkeeper.storage.providers.reports import pool_reports
from tollkeeper.storage.usage.log import SqlUsageLog
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper.storage.usage.refused import SqlRefusedCalls
from tollkeeper.storage.webhooks.desk import SqlWebhookDesk

# Whoever waits at a terminal keeps no page waiting.
COMMAND_PREVIEWS = ReadingBounds(seconds=600.0, calls=None)


@asynccontextmanager
async def office(settings: Settings) -> AsyncIterator[Office]:
    """Open the operator's desks for the length of one command."""
    notifier = notifier_of(settings)
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        try:
            desks = office_of(settings, database, notifier, actor=f"cli:{getpass.getuser()}")
            patient = SqlPriceDesk(database, notifier, previews=COMMAND_PREVIEWS)
            yield msgspec.structs.replace(desks, prices=patient)
        finally:
            await notifier.close()


def office_of(settings: Settings, database: Database, notifier: ChangeNotifier, *, actor: str) -> Office:
    front_desk = front_desk_of(settings, database)
    return Office(
        accounts=SqlAccountDesk(database, notifier),
        keys=SqlKeyDesk(database, notifier),
        catalog=SqlCatalogDesk(database, notifier),
        providers=SqlProviderDesk(database, notifier, envelope_keys_of(settings)),
        provider_terms=provider_terms(private_allowed=settings.private_providers),
        suspensions=SqlSuspensions(database, notifier),
        abuse=SqlAbuseDesk(database, notifier),
        abuse_policy=abuse_policy_of(settings),
        trusted_proxies=read_networks(settings.trusted_proxies),
        groups=SqlGroupDesk(database, notifier),
        codes=SqlCodeDesk(database),
        redemptions=SqlRedemptions(database),
        referral_terms=referral_terms_of(settings),
        console_url=settings.console_url,
        partners=SqlPartnerDesk(database),
        faucet=SqlFaucet(database),
        faucet_terms=faucet_terms_of(settings),
        front_desk=front_desk,
        second_factor=FrontDeskSecondFactor(front_desk),
        prices=SqlPriceDesk(database, notifier),
        price_notice=timedelta(hours=settings.price_notice_hours),
        lots=SqlLotDesk(database),
        statements=SqlStatements(database),
        announcements=SqlAnnouncementDesk(database),
        secrets=SqlSecretDesk(database, notifier, envelope_keys_of(settings)),
        webhooks=SqlWebhookDesk(database, envelope_keys_of(settings)),
        brand=SqlBrandDesk(database, notifier),
        private_webhooks=settings.private_webhooks,
        usage_log=SqlUsageLog(database),
        receipts=SqlReceipts(database),
        refused_calls=SqlRefusedCalls(database),
        disputes=SqlDisputes(database),
        jobs_on_record=partial(jobs_on_record, database),
        nodes_on_record=partial(nodes_on_record, database),
        pool_reports=partial(pool_reports, database),
        house_facts=partial(house_facts, database, notifier.milliseconds),
        settings_in_force=partial(settings_in_force, settings),
        probe_key=partial(probe_key, settings),
        try_out=partial(trial_of, settings),
        key_maker=KeyMaker(settings.cell, peppers_of(settings), secrets.choice),
        operator_keys=SqlOperatorKeys(database),
        audit_trail=SqlAuditTrail(database),
        figures=SqlProviderFigures(database),
        roster=SqlRoster(database),
        timelines=SqlTimelines(database),
        mail_setting_missing=_mail_setting_missing(settings),
        now=lambda: datetime.now(UTC),
        actor=actor,
    )


def _mail_setting_missing(settings: Settings) -> str:
    """Links of mails lead to the console, and somebody must carry the mails."""
    if not settings.smtp_url:
        return "TOLLKEEPER_SMTP_URL"
    return "" if settings.console_url else "TOLLKEEPER_CONSOLE_URL"


def settings_in_force(settings: Settings) -> Sequence[SettingRecord]:
    """Every setting of this process, without its secrets."""
    return [
        SettingRecord(
            variable=PREFIX + name.upper(),
            value=_shown(getattr(settings, name)),
            set_by=source,
            what_for=description(name),
        )
        for name, source in sources(os.environ).items()
    ]


def _shown(value: object) -> str:
    if isinstance(value, Secret):
        return repr(value)
    return ", ".join(value) if isinstance(value, tuple) else str(value)
