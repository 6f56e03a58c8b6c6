"""`books check` finds what is wrong, and says where."""

import asyncpg
import pytest
from tests.customers import Customers

from tollkeeper.app import opened
from tollkeeper.settings import Settings
from tollkeeper.storage.books import check_books
from tollkeeper.storage.database import Part

DAMAGE = {
    "I1 granted": ("update lot set remaining = remaining - 1 where account_id = $1", "account {account}: granted"),
    "I1 likewise": (
        """with gift as (insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
                         values ($1, 9, 9, 'x', 'y', '1 month', now()) returning id)
        update lot set remaining = remaining - 1 where account_id = $1""",
        "of account {account}: granted",
    ),
    "I2": ("update account_books set held = 5 where account_id = $1", "account {account}: held 5"),
    "I5": (
        """with other as (insert into account (name) values ('other') returning id)
        insert into lot (account_id, key_id, granted, remaining, source, source_id, term, expires_at)
        select other.id, (select id from api_key where account_id = $1), 1, 1, 'x', 'x', '1 month', now() from other""",
        "of account {account}",
    ),
    "every account": ("delete from account_books where account_id = $1", "account {account}"),
    "audit": ("update audit set actor = 'nobody' where id = 2 and $1::bigint is not null", "audit row 2"),
    "audit trail": ("delete from audit where id = 1 and $1::bigint is not null", "audit row 2"),
}


async def findings(settings: Settings) -> dict[str, list[str]]:
    async with opened(settings, Part.WORKER) as database:
        return {verdict.invariant: verdict.findings for verdict in await check_books(database)}


async def test_untouched_books_are_clean(settings: Settings, customers: Customers) -> None:
    for _ in range(3):
        await customers.a_customer()
    assert not any((await findings(settings)).values())


@pytest.mark.parametrize(("named", "sql", "finding"), [(name, *damage) for name, damage in DAMAGE.items()], ids=DAMAGE)
async def test_damage_is_found_and_named(
    settings: Settings, customers: Customers, owner: asyncpg.Connection, named: str, sql: str, finding: str
) -> None:
    customer = await customers.a_customer()
    await customers.a_customer()
    await owner.execute(sql, customer.account_id)
    broken = {invariant: found for invariant, found in (await findings(settings)).items() if found}
    [(invariant, found)] = [item for item in broken.items() if named in item[0]]
    assert finding.format(account=customer.account_id) in found[0], invariant
