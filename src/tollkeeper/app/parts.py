"""The parts, each made from the settings."""

import hmac
import random
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.calls.digests import CallDigests
from tollkeeper.core.keys import Peppers
from tollkeeper.core.limits.abuse import Policy
from tollkeeper.core.money.amounts import Quota, quota_from_usd
from tollkeeper.core.partner.plan import ReferralTerms, micros_from_usd
from tollkeeper.edge.http.crowd import Crowd
from tollkeeper.edge.pages.site import GatewaySite
from tollkeeper.mail.smtp import SmtpMailer, route_of
from tollkeeper.ports import (
    ProviderAccount,
    ProviderAccounts,
    Upstream,
    Vendor,
)
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.ports.providers.desk import Finding
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.providers.pool import LivePool
from tollkeeper.providers.probe import key_is_accepted, trouble_of
from tollkeeper.providers.trial import try_out
from tollkeeper.providers.vendors.anthropic import Anthropic
from tollkeeper.providers.vendors.azure import Azure
from tollkeeper.providers.vendors.gemini import Gemini
from tollkeeper.providers.vendors.openai import OpenAI
from tollkeeper.relay.time_limits import CallTimeouts
from tollkeeper.settings import Settings, keys_by_version, peppers_in
from tollkeeper.steady import BackgroundTasks
from tollkeeper.storage.customers.sent_forms import SqlSentForms
from tollkeeper.storage.envelope import EnvelopeKeys
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.ledger.journal_folder import JournalFolder
from tollkeeper.storage.people.email_changes import SqlEmailChanges
from tollkeeper.storage.people.factor_resets import SqlFactorResets
from tollkeeper.storage.people.lockouts import SqlLockouts
from tollkeeper.storage.people.logins import SqlLogins
from tollkeeper.storage.people.passkeys import SqlPasskeys
from tollkeeper.storage.people.password_hashes import Argon2Hashes
from tollkeeper.storage.people.readings import SqlReadAsDesk
from tollkeeper.storage.people.second_factors import SqlSecondFactors
from tollkeeper.storage.people.sessions import SqlSessions
from tollkeeper.storage.people.sign_ups import SqlSignUps
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.accounts import SqlSuspensions
from tollkeeper.storage.redis.places import places_of

VENDORS: Mapping[str, Vendor] = {"openai": OpenAI(), "azure": Azure(), "anthropic": Anthropic(), "gemini": Gemini()}

# Addresses that can be listened on and not called, with what to call instead.
CALLED_INSTEAD = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 (nobody listens by this)


def database_of(settings: Settings, part: DatabaseRole, connections: int | None = None) -> Database:
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


def referral_terms_of(settings: Settings) -> ReferralTerms:
    return ReferralTerms(
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


def low_balance_of(settings: Settings) -> Quota:
    return quota_from_usd(Decimal(settings.low_balance_usd))


def notifier_of(settings: Settings) -> ChangeNotifier:
    return ChangeNotifier(places_of(settings.redis_url.reveal()).clients())


def peppers_of(settings: Settings) -> Peppers:
    return Peppers(peppers_in(settings.peppers)[0], settings.pepper_in_use)


def service_mark_of(settings: Settings) -> bytes:
    """The same on every node of this service, and on no other's; it outlives rotations. It follows from the oldest
    pepper; when that one is retired, the mark itself takes its place in the setting."""
    by_version, mark = peppers_in(settings.peppers)
    return mark or hmac.digest(by_version[min(by_version)], b"calls that are known again", "sha256")


def known_secrets_of(settings: Settings) -> list[str]:
    """Which versions are known here, each with a few digits by which equal secrets are told from others."""
    kinds = {"pepper": peppers_of(settings).by_version, "envelope": envelope_keys_of(settings).by_version}
    told = [(f"{kind}:{version}", kinds[kind][version]) for kind in kinds for version in sorted(kinds[kind])]
    told.append(("mark", service_mark_of(settings)))
    return [f"{name}:{hmac.digest(secret, b'told apart', 'sha256').hex()[:8]}" for name, secret in told]


def call_digests_of(settings: Settings) -> CallDigests:
    """Under the mark: another pepper must not let a call be paid for twice that was made just before."""
    return CallDigests(service_mark_of(settings))


def envelope_keys_of(settings: Settings) -> EnvelopeKeys:
    by_version = keys_by_version(settings.envelope_keys, least_bytes=32, most_bytes=32)
    return EnvelopeKeys(by_version, settings.envelope_key_in_use)


def front_desk_of(settings: Settings, database: Database) -> FrontDesk:
    peppers = peppers_of(settings)
    return FrontDesk(
        sign_ups=SqlSignUps(database),
        logins=SqlLogins(database),
        email_changes=SqlEmailChanges(database),
        sessions=SqlSessions(database),
        readings=SqlReadAsDesk(database),
        second_factors=SqlSecondFactors(database, envelope_keys_of(settings), peppers),
        passkeys=SqlPasskeys(database),
        factor_resets=SqlFactorResets(database),
        sent_forms=SqlSentForms(database),
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


def timeouts_of(settings: Settings) -> CallTimeouts:
    return CallTimeouts(
        cut_seconds=settings.cut_seconds,
        longest_seconds=settings.longest_seconds,
        first_byte_seconds=settings.first_byte_seconds,
        idle_seconds=settings.provider_idle_seconds,
    )


def main_url_of(settings: Settings) -> str:
    host = CALLED_INSTEAD.get(settings.host, settings.host)
    return _url_of(settings.main_hosts) or f"http://{host}:{settings.port}"


def gateway_site_of(settings: Settings) -> GatewaySite:
    return GatewaySite(
        name=settings.console_name,
        main_url=main_url_of(settings),
        backup_url=_url_of(settings.backup_hosts),
        billing_url=_url_of(settings.billing_hosts),
        console_url=settings.console_url.rstrip("/"),
        docs_url=settings.docs_url,
        cut_seconds=round(settings.cut_seconds),
        longest_seconds=round(settings.longest_seconds),
    )


def _url_of(hosts: Sequence[str]) -> str:
    return f"https://{hosts[0]}" if hosts else ""


def pool_of(
    settings: Settings,
    accounts: ProviderAccounts,
    changes: Changes,
    notifier: ChangeNotifier,
    database: Database,
    upstream: Upstream,
) -> LivePool:
    pool = LivePool(
        accounts,
        VENDORS,
        now=time.monotonic,
        chance=random.random,
        share=lambda: changes.live_workers,
        secret=mark_of(settings, b"affinity").encode(),
    )
    background, suspensions = BackgroundTasks(), SqlSuspensions(database, notifier)
    pool.probe = lambda account: trouble_of(account, VENDORS[account.vendor], upstream)
    pool.run_aside = background.run
    pool.publish = lambda text: background.run("news of the pool", lambda: notifier.send(text))
    pool.suspend = lambda account_id, because: background.run(
        "suspension of a provider account", lambda: suspensions.suspend(account_id, because)
    )
    return pool


def loop_mark_of(settings: Settings) -> str:
    return mark_of(settings, b"loop")


def mark_of(settings: Settings, purpose: bytes) -> str:
    """What follows from the service's mark, for one purpose."""
    return hmac.digest(service_mark_of(settings), b"mark for " + purpose, "sha256").hex()[:32]


@asynccontextmanager
async def opened(settings: Settings, part: DatabaseRole) -> AsyncIterator[Database]:
    """A database for the length of one command."""
    database = database_of(settings, part)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def probe_key(settings: Settings, account: ProviderAccount) -> tuple[bool, str]:
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
