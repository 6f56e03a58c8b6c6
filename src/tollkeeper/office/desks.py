"""What staff work with: the ports, and what acts must know of this deployment."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.providers.description import ProviderTerms
from tollkeeper.core.client_ip import Network
from tollkeeper.core.limits.abuse import Policy
from tollkeeper.core.partner.plan import ReferralTerms
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.ports import (
    AbuseDesk,
    AccountDesk,
    CatalogDesk,
    CodeDesk,
    Faucet,
    GroupDesk,
    KeyDesk,
    PartnerDesk,
    ProviderAccount,
    ProviderDesk,
    Receipts,
    Redemptions,
    Suspensions,
)
from tollkeeper.ports.announcements import AnnouncementDesk
from tollkeeper.ports.audit import AuditTrail
from tollkeeper.ports.brand import BrandDesk
from tollkeeper.ports.catalog.prices import PriceDesk
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.ports.customers.lots import LotDesk, Statements
from tollkeeper.ports.customers.roster import Roster, Timelines
from tollkeeper.ports.disputes import Disputes
from tollkeeper.ports.house import HouseFacts, NodeRecord, SettingRecord
from tollkeeper.ports.jobs import JobRecord
from tollkeeper.ports.operators import OperatorKeys
from tollkeeper.ports.people import SecondFactor
from tollkeeper.ports.providers.desk import Finding
from tollkeeper.ports.providers.figures import ProviderFigures
from tollkeeper.ports.providers.live import ProcessReport
from tollkeeper.ports.refused import RefusedCalls
from tollkeeper.ports.secrets import SecretDesk
from tollkeeper.ports.usage import UsageLog
from tollkeeper.ports.webhooks import WebhookDesk


class Office(msgspec.Struct, frozen=True, kw_only=True):
    """What acts work with."""

    accounts: AccountDesk
    keys: KeyDesk
    catalog: CatalogDesk
    providers: ProviderDesk
    provider_terms: ProviderTerms
    suspensions: Suspensions
    abuse: AbuseDesk
    abuse_policy: Policy
    trusted_proxies: Sequence[Network]
    groups: GroupDesk
    codes: CodeDesk
    redemptions: Redemptions
    referral_terms: ReferralTerms
    console_url: str
    partners: PartnerDesk
    faucet: Faucet
    faucet_terms: FaucetTerms
    front_desk: FrontDesk
    second_factor: SecondFactor
    prices: PriceDesk
    # How long before it takes effect a price change is announced.
    price_notice: timedelta
    lots: LotDesk
    statements: Statements
    announcements: AnnouncementDesk
    secrets: SecretDesk
    webhooks: WebhookDesk
    brand: BrandDesk
    # Whether webhooks in private networks, and over plain http, are called.
    private_webhooks: bool
    usage_log: UsageLog
    receipts: Receipts
    refused_calls: RefusedCalls
    disputes: Disputes
    jobs_on_record: Callable[[], Awaitable[Sequence[JobRecord]]]
    nodes_on_record: Callable[[], Awaitable[Sequence[NodeRecord]]]
    # What every process of the gateway that is heard of knows of the pool.
    pool_reports: Callable[[], Awaitable[Sequence[ProcessReport]]]
    house_facts: Callable[[], Awaitable[HouseFacts]]
    settings_in_force: Callable[[], Sequence[SettingRecord]]
    probe_key: Callable[[ProviderAccount], Awaitable[tuple[bool, str]]]
    try_out: Callable[[ProviderAccount, str], AsyncIterator[Finding]]
    key_maker: KeyMaker
    operator_keys: OperatorKeys
    audit_trail: AuditTrail
    figures: ProviderFigures
    roster: Roster
    timelines: Timelines
    # The setting without which mails with links wait; empty: they are sent.
    mail_setting_missing: str
    now: Callable[[], datetime]
    actor: str

    @property
    def operator(self) -> Actor:
        """A person who can run commands has the service's own secrets."""
        return Actor(self.actor, Role.OPERATOR)
