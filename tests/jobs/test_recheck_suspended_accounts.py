"""Suspended provider accounts: who comes back into the pool, on a real database."""

import logging
from collections.abc import AsyncIterator
from functools import partial

import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.app.database import opened
from tollkeeper.app.secrets import envelope_keys_of
from tollkeeper.jobs.recheck_suspended_accounts import recheck_suspended_accounts
from tollkeeper.ports import NewProviderAccount, ProviderAccount
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.accounts import SqlSuspensions, suspended_accounts


class Silent(ChangeNotifier):
    """As if Redis were not there."""

    def __init__(self) -> None:
        """Nothing to connect to."""

    async def send(self, text: bytes = b"") -> None:
        """Nobody hears."""


class Vendor:
    """Accepts the keys of some accounts, and notes whom it was asked about."""

    def __init__(self, *accepts: str) -> None:
        self._accepts = accepts
        self.asked: list[tuple[str, str]] = []

    async def probe(self, account: ProviderAccount) -> tuple[bool, str]:
        self.asked.append((account.name, account.secret.reveal()))
        accepted = account.name in self._accepts
        return accepted, "its key is accepted" if accepted else "its key was refused with 401"


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


async def suspended(customers: Customers) -> list[str]:
    return [each.name for each in await customers.desk.providers.standing() if each.suspended_at is not None]


async def test_an_account_whose_key_is_accepted_again_comes_back_and_the_others_wait(
    customers: Customers,
    settings: Settings,
    database: Database,
    worker: Database,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("first", "second", "third"):
        wanted = NewProviderAccount(name=name, vendor="openai", base_url="https://api.example/v1", secret=f"of {name}")
        account_id = await customers.desk.providers.add(wanted, actor=ACTOR)
        if name != "third":
            await SqlSuspensions(database, Silent()).suspend(account_id, "its key was refused with 401")
    vendor, suspensions = Vendor("second"), SqlSuspensions(worker, Silent())
    find = partial(suspended_accounts, worker, envelope_keys_of(settings))

    with caplog.at_level(logging.WARNING, "tollkeeper.jobs"):
        await recheck_suspended_accounts(find, vendor.probe, suspensions)
    assert sorted(vendor.asked) == [("first", "of first"), ("second", "of second")]
    assert await suspended(customers) == ["first"]
    assert sorted(record.getMessage() for record in caplog.records) == [
        "provider account first stays suspended: its key was refused with 401",
        "provider account second takes calls again: its key is accepted",
    ]

    vendor.asked.clear()
    await recheck_suspended_accounts(find, vendor.probe, suspensions)
    assert vendor.asked == [("first", "of first")]
