"""The parts, each made from the settings."""

import hmac
import random
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from tollkeeper.accounts.front_desk import FrontDesk
from tollkeeper.core.abuse import Policy
from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.keys import Peppers
from tollkeeper.core.money import quota_from_usd
from tollkeeper.core.referral import Terms, micros_from_usd
from tollkeeper.edge.body import BodyReader
from tollkeeper.edge.crowd import Crowd
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.price_pages import PricePages
from tollkeeper.ports import (
    Balances,
    ProviderAccount,
    ProviderAccounts,
    Upstream,
    Vendor,
)
from tollkeeper.ports.faucet import FaucetTerms
from tollkeeper.ports.prices import PriceList
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.providers.pool import LivePool
from tollkeeper.providers.probe import key_is_accepted, trouble_of
from tollkeeper.providers.trial import Finding, try_out
from tollkeeper.providers.vendors.anthropic import Anthropic
from tollkeeper.providers.vendors.azure import Azure
from tollkeeper.providers.vendors.gemini import Gemini
from tollkeeper.providers.vendors.openai import OpenAI
from tollkeeper.relay.pipeline import Relay
from tollkeeper.relay.time_limits import TimeLimits
from tollkeeper.settings import Settings, keys_by_version
from tollkeeper.steady import Errands
from tollkeeper.storage.bookkeeper import Bookkeeper
from tollkeeper.storage.changes import Changes, Nudges
from tollkeeper.storage.database import Database, Part
from tollkeeper.storage.envelope import EnvelopeKeys
from tollkeeper.storage.journal_folder import JournalFolder
from tollkeeper.storage.lockouts import SqlLockouts
from tollkeeper.storage.logins import SqlLogins
from tollkeeper.storage.mailer import SmtpMailer, route_of
from tollkeeper.storage.password_hashes import Argon2Hashes
from tollkeeper.storage.provider_accounts import SqlSuspensions
from tollkeeper.storage.redis_places import places_of
from tollkeeper.storage.second_factors import SqlSecondFactors
from tollkeeper.storage.sessions import SqlSessions
from tollkeeper.storage.sign_ups import SqlSignUps

VENDORS: Mapping[str, Vendor] = {"openai": OpenAI(), "azure": Azure(), "anthropic": Anthropic(), "gemini": Gemini()}


def database_of(settings: Settings, part: Part, connections: int | None = None) -> Database:
    return Database(
        settings.database_url.reveal(),
        part,
        connections=connections or settings.database_connections,
        patience_seconds=settings.store_patience_seconds,
    )


def bookkeeper_of(settings: Settings, database: Database, *, serves: bool = True) -> Bookkeeper:
    return Bookkeeper(
        database,
        settings.node,
        settings.journal,
        patience_seconds=settings.store_patience_seconds,
        serves=serves,
        former_folder=settings.former_journal,
    )


def check_journal(settings: Settings) -> None:
    """Raise UnsafeFolder where the journal cannot be kept; make its folder where there is none."""
    JournalFolder(settings.journal).close()


def abuse_policy_of(settings: Settings) -> Policy:
    return Policy(
        ban_seconds=settings.ban_seconds,
        ban_seconds_most=settings.ban_seconds_most,
        ban_memory_seconds=settings.ban_memory_seconds,
        peak_seconds=settings.peak_seconds,
        peak_within_seconds=settings.peak_within_seconds,
        restricted_seconds=settings.restricted_seconds,
    )


def referral_terms_of(settings: Settings) -> Terms:
    return Terms(
        pending_days=settings.referral_pending_days,
        cash_cap=micros_from_usd(Decimal(settings.referral_cash_cap_usd)),
        gift_cap=quota_from_usd(Decimal(settings.gift_cap_usd)),
    )


def faucet_terms_of(settings: Settings) -> FaucetTerms:
    return FaucetTerms(
        amount=quota_from_usd(Decimal(settings.faucet_usd)),
        days=settings.faucet_days,
        per_network=settings.faucet_per_network,
        per_day=settings.faucet_per_day,
    )


def nudges_of(settings: Settings) -> Nudges:
    return Nudges(places_of(settings.redis_url.reveal()).clients())


def peppers_of(settings: Settings) -> Peppers:
    return Peppers(keys_by_version(settings.peppers, least_bytes=32))


def envelope_keys_of(settings: Settings) -> EnvelopeKeys:
    return EnvelopeKeys(keys_by_version(settings.envelope_keys, least_bytes=32, most_bytes=32))


def front_desk_of(settings: Settings, database: Database) -> FrontDesk:
    peppers = peppers_of(settings)
    return FrontDesk(
        sign_ups=SqlSignUps(database),
        logins=SqlLogins(database),
        sessions=SqlSessions(database),
        second_factors=SqlSecondFactors(database, envelope_keys_of(settings), peppers),
        lockouts=SqlLockouts(database, peppers),
        hashes=Argon2Hashes(),
        peppers=peppers,
        choose=secrets.choice,
        issuer=settings.provider_domain,
    )


def mailer_of(settings: Settings) -> SmtpMailer | None:
    if not settings.smtp_url:
        return None
    return SmtpMailer(route_of(settings.smtp_url.reveal()), sender=settings.mail_from)


def upstream_of(settings: Settings) -> HttpUpstream:
    certificates = settings.provider_certificates
    return HttpUpstream(
        connect_seconds=settings.connect_seconds,
        idle_seconds=settings.provider_idle_seconds,
        private_allowed=settings.private_providers,
        proxy_url=settings.egress_proxy.reveal() or None,
        root_certificates=Path(certificates).read_bytes() if certificates else None,
    )


def address_book_of(settings: Settings) -> AddressBook:
    return AddressBook(
        {
            Address.MAIN: settings.main_hosts,
            Address.BACKUP: settings.backup_hosts,
            Address.BILLING: settings.billing_hosts,
            Address.AGENT: settings.agent_hosts,
        }
    )


def crowd_of(settings: Settings) -> Crowd:
    return Crowd(port=settings.port, connections=settings.connections, idle_seconds=settings.crowded_idle_seconds)


def time_limits_of(settings: Settings) -> TimeLimits:
    return TimeLimits(
        cut_seconds=settings.cut_seconds,
        longest_seconds=settings.longest_seconds,
        first_byte_seconds=settings.first_byte_seconds,
        idle_seconds=settings.provider_idle_seconds,
    )


def services_of(settings: Settings, relay: Relay, balances: Balances, prices: PriceList) -> Services:
    return Services(
        relay=relay,
        balances=balances,
        prices=PricePages(prices, owner=settings.provider_domain),
        bodies=BodyReader(reading_bytes_most=settings.reading_bytes, seconds_most=settings.body_seconds),
        owned_by=settings.provider_domain,
        keep_alive_seconds=settings.keep_alive_seconds,
        loop_mark=loop_mark_of(settings),
    )


def pool_of(
    accounts: ProviderAccounts, changes: Changes, nudges: Nudges, database: Database, upstream: Upstream
) -> LivePool:
    pool = LivePool(
        accounts,
        VENDORS,
        now=time.monotonic,
        chance=random.random,
        share=lambda: changes.live_workers,
    )
    errands, suspensions = Errands(), SqlSuspensions(database, nudges)
    pool.probe = lambda account: trouble_of(account, VENDORS[account.vendor], upstream)
    pool.run_aside = errands.run
    pool.tell = lambda text: errands.run("news of the pool", lambda: nudges.send(text))
    pool.suspend = lambda account_id, because: errands.run(
        "suspension of a provider account", lambda: suspensions.suspend(account_id, because)
    )
    return pool


def loop_mark_of(settings: Settings) -> str:
    return mark_of(settings, b"loop")


def mark_of(settings: Settings, purpose: bytes) -> str:
    """The same on every node of this service, and on no other's."""
    return hmac.digest(settings.peppers.reveal().encode(), purpose, "sha256").hex()[:32]


@asynccontextmanager
async def opened(settings: Settings, part: Part) -> AsyncIterator[Database]:
    """A database for the length of one command."""
    database = database_of(settings, part)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def test_key(settings: Settings, account: ProviderAccount) -> tuple[bool, str]:
    upstream = upstream_of(settings)
    try:
        return await key_is_accepted(account, VENDORS[account.vendor], upstream)
    finally:
        await upstream.close()


async def trial_of(settings: Settings, account: ProviderAccount, model_id: str) -> AsyncIterator[Finding]:
    upstream = upstream_of(settings)
    try:
        async for finding in try_out(account, VENDORS[account.vendor], upstream, model_id):
            yield finding
    finally:
        await upstream.close()
