"""The operator's desks, for the length of one command."""

import getpass
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from tollkeeper.accounts.front_desk import FrontDesk
from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.accounts.second_factor import FrontDeskSecondFactor
from tollkeeper.app.parts import (
    abuse_policy_of,
    envelope_keys_of,
    faucet_terms_of,
    front_desk_of,
    nudges_of,
    opened,
    peppers_of,
    referral_terms_of,
    test_key,
    trial_of,
)
from tollkeeper.core.abuse import Policy
from tollkeeper.core.logins import Actor, Role
from tollkeeper.core.referral import Terms
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
    Redemptions,
    Suspensions,
)
from tollkeeper.ports.faucet import FaucetTerms
from tollkeeper.ports.logins import SecondFactor
from tollkeeper.ports.lots import LotDesk, Statements
from tollkeeper.ports.prices import PriceDesk
from tollkeeper.providers.trial import Finding
from tollkeeper.settings import Settings
from tollkeeper.storage.abuse_desk import SqlAbuseDesk
from tollkeeper.storage.accounts import SqlAccountDesk
from tollkeeper.storage.catalog import SqlCatalogDesk
from tollkeeper.storage.database import Part
from tollkeeper.storage.faucet import SqlFaucet
from tollkeeper.storage.groups import SqlGroupDesk
from tollkeeper.storage.key_desk import SqlKeyDesk
from tollkeeper.storage.lot_desk import SqlLotDesk, SqlStatements
from tollkeeper.storage.partner import SqlPartnerDesk
from tollkeeper.storage.price_desk import SqlPriceDesk
from tollkeeper.storage.provider_accounts import SqlSuspensions
from tollkeeper.storage.provider_desk import SqlProviderDesk
from tollkeeper.storage.redemption import SqlCodeDesk, SqlRedemptions


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
    referral_terms: Terms
    partners: PartnerDesk
    faucet: Faucet
    faucet_terms: FaucetTerms
    front_desk: FrontDesk
    second_factor: SecondFactor
    prices: PriceDesk
    lots: LotDesk
    statements: Statements
    test_key: Callable[[ProviderAccount], Awaitable[tuple[bool, str]]]
    try_out: Callable[[ProviderAccount, str], AsyncIterator[Finding]]
    key_maker: KeyMaker
    actor: str

    @property
    def operator(self) -> Actor:
        """Whoever can run commands has the service's own secrets."""
        return Actor(self.actor, Role.OPERATOR)


@asynccontextmanager
async def office(settings: Settings) -> AsyncIterator[Office]:
    """Open the operator's desks for the length of one command."""
    nudges = nudges_of(settings)
    actor = f"cli:{getpass.getuser()}"
    async with opened(settings, Part.CONSOLE) as database:
        front_desk = front_desk_of(settings, database)
        try:
            yield Office(
                accounts=SqlAccountDesk(database, nudges),
                keys=SqlKeyDesk(database, nudges),
                catalog=SqlCatalogDesk(database, nudges),
                providers=SqlProviderDesk(database, nudges, envelope_keys_of(settings)),
                suspensions=SqlSuspensions(database, nudges, actor=actor),
                abuse=SqlAbuseDesk(database, nudges),
                abuse_policy=abuse_policy_of(settings),
                groups=SqlGroupDesk(database, nudges),
                codes=SqlCodeDesk(database),
                redemptions=SqlRedemptions(database),
                referral_terms=referral_terms_of(settings),
                partners=SqlPartnerDesk(database),
                faucet=SqlFaucet(database),
                faucet_terms=faucet_terms_of(settings),
                front_desk=front_desk,
                second_factor=FrontDeskSecondFactor(front_desk),
                prices=SqlPriceDesk(database, nudges),
                lots=SqlLotDesk(database),
                statements=SqlStatements(database),
                test_key=partial(test_key, settings),
                try_out=partial(trial_of, settings),
                key_maker=KeyMaker(settings.cell, peppers_of(settings), secrets.choice),
                actor=actor,
            )
        finally:
            await nudges.close()
