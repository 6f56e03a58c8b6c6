"""Other parts, each made from the settings."""

from collections.abc import Sequence
from decimal import Decimal

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.limits.abuse import Policy
from tollkeeper.core.money.amounts import Quota, quota_from_usd
from tollkeeper.core.partner.plan import ReferralTerms, micros_from_usd
from tollkeeper.edge.pages.site import GatewaySite
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.redis.places import places_of

# Addresses that can be listened on and not called, with what to call instead.
CALLED_INSTEAD = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 (nobody listens by this)


def bookkeeper_of(settings: Settings, database: Database, *, serves: bool = True) -> Bookkeeper:
    return Bookkeeper(
        database,
        settings.node,
        settings.journal,
        patience_seconds=settings.store_patience_seconds,
        serves=serves,
        former_folder=settings.former_journal,
    )


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


def address_book_of(settings: Settings) -> AddressBook:
    return AddressBook(
        {
            Address.MAIN: settings.main_hosts,
            Address.BACKUP: settings.backup_hosts,
            Address.BILLING: settings.billing_hosts,
            Address.AGENT: settings.agent_hosts,
        }
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
