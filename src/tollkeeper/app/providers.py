"""Providers: their vendors, the client that reaches them, the pool of accounts."""

import random
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tollkeeper.app.secrets import mark_of
from tollkeeper.ports import ProviderAccount, ProviderAccounts, Upstream, Vendor
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
from tollkeeper.settings import Settings
from tollkeeper.steady import BackgroundTasks
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.providers.accounts import SqlSuspensions

VENDORS: Mapping[str, Vendor] = {"openai": OpenAI(), "azure": Azure(), "anthropic": Anthropic(), "gemini": Gemini()}


def upstream_of(settings: Settings) -> HttpUpstream:
    certificates = settings.provider_certificates
    return HttpUpstream(
        connect_seconds=settings.connect_seconds,
        idle_seconds=settings.provider_idle_seconds,
        private_allowed=settings.private_providers,
        proxy_url=settings.egress_proxy.reveal() or None,
        root_certificates=Path(certificates).read_bytes() if certificates else None,
    )


def timeouts_of(settings: Settings) -> CallTimeouts:
    return CallTimeouts(
        cut_seconds=settings.cut_seconds,
        longest_seconds=settings.longest_seconds,
        first_byte_seconds=settings.first_byte_seconds,
        idle_seconds=settings.provider_idle_seconds,
    )


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
