"""The operator's desks, for the length of one command."""

import getpass
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.app.parts import (
    abuse_policy_of,
    envelope_keys_of,
    nudges_of,
    opened,
    peppers_of,
    test_key,
    trial_of,
)
from tollkeeper.core.abuse import Policy
from tollkeeper.ports import (
    AbuseDesk,
    AccountDesk,
    CatalogDesk,
    GroupDesk,
    KeyDesk,
    ProviderAccount,
    ProviderDesk,
    Suspensions,
)
from tollkeeper.providers.trial import Finding
from tollkeeper.settings import Settings
from tollkeeper.storage.abuse_desk import SqlAbuseDesk
from tollkeeper.storage.accounts import SqlAccountDesk
from tollkeeper.storage.catalog import SqlCatalogDesk
from tollkeeper.storage.database import Part
from tollkeeper.storage.groups import SqlGroupDesk
from tollkeeper.storage.keys import SqlKeyDesk
from tollkeeper.storage.provider_accounts import SqlSuspensions
from tollkeeper.storage.provider_desk import SqlProviderDesk


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
    test_key: Callable[[ProviderAccount], Awaitable[tuple[bool, str]]]
    try_out: Callable[[ProviderAccount, str], AsyncIterator[Finding]]
    key_maker: KeyMaker
    actor: str


@asynccontextmanager
async def office(settings: Settings) -> AsyncIterator[Office]:
    """Open the operator's desks for the length of one command."""
    nudges = nudges_of(settings)
    actor = f"cli:{getpass.getuser()}"
    async with opened(settings, Part.CONSOLE) as database:
        try:
            yield Office(
                accounts=SqlAccountDesk(database),
                keys=SqlKeyDesk(database, nudges),
                catalog=SqlCatalogDesk(database, nudges),
                providers=SqlProviderDesk(database, nudges, envelope_keys_of(settings)),
                suspensions=SqlSuspensions(database, nudges, actor=actor),
                abuse=SqlAbuseDesk(database, nudges),
                abuse_policy=abuse_policy_of(settings),
                groups=SqlGroupDesk(database, nudges),
                test_key=partial(test_key, settings),
                try_out=partial(trial_of, settings),
                key_maker=KeyMaker(settings.cell, peppers_of(settings), secrets.choice),
                actor=actor,
            )
        finally:
            await nudges.close()
