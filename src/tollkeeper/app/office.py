"""The operator's desks, for the length of one command."""

import getpass
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.second_factor import FrontDeskSecondFactor
from tollkeeper.app.parts import (
    abuse_policy_of,
    envelope_keys_of,
    faucet_terms_of,
    front_desk_of,
    notifier_of,
    opened,
    peppers_of,
    probe_key,
    referral_terms_of,
    trial_of,
)
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
from tollkeeper.ports.catalog.prices import PriceDesk
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.ports.customers.lots import LotDesk, Statements
from tollkeeper.ports.jobs import JobRecord
from tollkeeper.ports.people import SecondFactor
from tollkeeper.ports.secrets import SecretDesk
from tollkeeper.ports.usage import UsageLog
from tollkeeper.providers.trial import Finding
from tollkeeper.settings import Settings
from tollkeeper.storage.catalog.groups import SqlGroupDesk
from tollkeeper.storage.catalog.models import SqlCatalogDesk
from tollkeeper.storage.catalog.price_desk import SqlPriceDesk
from tollkeeper.storage.customers.accounts import SqlAccountDesk
from tollkeeper.storage.customers.announcements import SqlAnnouncementDesk
from tollkeeper.storage.customers.faucet import SqlFaucet
from tollkeeper.storage.customers.key_desk import SqlKeyDesk
from tollkeeper.storage.customers.lot_desk import SqlLotDesk
from tollkeeper.storage.customers.month_statements import SqlStatements
from tollkeeper.storage.customers.redemption import SqlCodeDesk, SqlRedemptions
from tollkeeper.storage.customers.secret_desk import SqlSecretDesk
from tollkeeper.storage.jobs.book import jobs_on_record
from tollkeeper.storage.limits.abuse_desk import SqlAbuseDesk
from tollkeeper.storage.partner.plan import SqlPartnerDesk
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.providers.accounts import SqlSuspensions
from tollkeeper.storage.providers.desk import SqlProviderDesk
from tollkeeper.storage.usage.log import SqlUsageLog
from tollkeeper.storage.usage.receipts import SqlReceipts


class Office(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator's commands work with."""

    accounts: AccountDesk
    keys: KeyDesk
    catalog: CatalogDesk
    providers: ProviderDesk
    suspensions: Suspensions
    abuse: AbuseDesk
    abuse_policy: Policy
    groups: GroupDesk
    codes: CodeDesk
    redemptions: Redemptions
    referral_terms: ReferralTerms
    partners: PartnerDesk
    faucet: Faucet
    faucet_terms: FaucetTerms
    front_desk: FrontDesk
    second_factor: SecondFactor
    prices: PriceDesk
    lots: LotDesk
    statements: Statements
    announcements: AnnouncementDesk
    secrets: SecretDesk
    usage_log: UsageLog
    receipts: Receipts
    jobs_on_record: Callable[[], Awaitable[Sequence[JobRecord]]]
    probe_key: Callable[[ProviderAccount], Awaitable[tuple[bool, str]]]
    try_out: Callable[[ProviderAccount, str], AsyncIterator[Finding]]
    key_maker: KeyMaker
    actor: str

    @property
    def operator(self) -> Actor:
        """A person who can run commands has the service's own secrets."""
        return Actor(self.actor, Role.OPERATOR)


@asynccontextmanager
async def office(settings: Settings) -> AsyncIterator[Office]:
    """Open the operator's desks for the length of one command."""
    notifier = notifier_of(settings)
    actor = f"cli:{getpass.getuser()}"
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        front_desk = front_desk_of(settings, database)
        try:
            yield Office(
                accounts=SqlAccountDesk(database, notifier),
                keys=SqlKeyDesk(database, notifier),
                catalog=SqlCatalogDesk(database, notifier),
                providers=SqlProviderDesk(database, notifier, envelope_keys_of(settings)),
                suspensions=SqlSuspensions(database, notifier, actor=actor),
                abuse=SqlAbuseDesk(database, notifier),
                abuse_policy=abuse_policy_of(settings),
                groups=SqlGroupDesk(database, notifier),
                codes=SqlCodeDesk(database),
                redemptions=SqlRedemptions(database),
                referral_terms=referral_terms_of(settings),
                partners=SqlPartnerDesk(database),
                faucet=SqlFaucet(database),
                faucet_terms=faucet_terms_of(settings),
                front_desk=front_desk,
                second_factor=FrontDeskSecondFactor(front_desk),
                prices=SqlPriceDesk(database, notifier),
                lots=SqlLotDesk(database),
                statements=SqlStatements(database),
                announcements=SqlAnnouncementDesk(database),
                secrets=SqlSecretDesk(database, notifier, envelope_keys_of(settings)),
                usage_log=SqlUsageLog(database),
                receipts=SqlReceipts(database),
                jobs_on_record=partial(jobs_on_record, database),
                probe_key=partial(probe_key, settings),
                try_out=partial(trial_of, settings),
                key_maker=KeyMaker(settings.cell, peppers_of(settings), secrets.choice),
                actor=actor,
            )
        finally:
            await notifier.close()
