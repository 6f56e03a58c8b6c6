"""What customers want to be told, in PostgreSQL."""

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports.customers.notices import NoticeChoices
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

READ = """
select low_balance, low_balance_below, lot_expiring, price_change, new_sign_in, day_spend_above
from notice_choice where account_id = $1
"""
KEEP = """
insert into notice_choice
    (account_id, low_balance, low_balance_below, lot_expiring, price_change, new_sign_in, day_spend_above)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (account_id) do update
set low_balance = $2, low_balance_below = $3, lot_expiring = $4, price_change = $5, new_sign_in = $6,
    day_spend_above = $7, changed_at = ledger_now()
"""


class SqlNoticeDesk:
    """The `NoticeDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, account_id: int) -> NoticeChoices:
        row = await self._database.row(READ, account_id)
        if row is None:
            return NoticeChoices()
        below, above = row["low_balance_below"], row["day_spend_above"]
        return NoticeChoices(
            low_balance=row["low_balance"],
            low_balance_below=None if below is None else Quota(below),
            lot_expiring=row["lot_expiring"],
            price_change=row["price_change"],
            new_sign_in=row["new_sign_in"],
            day_spend_above=None if above is None else Quota(above),
        )

    async def choose(self, account_id: int, choices: NoticeChoices, *, actor: str) -> None:
        chosen = msgspec.structs.asdict(choices)
        async with self._database.transaction() as connection:
            await connection.execute(KEEP, account_id, *chosen.values())
            await audit(connection, actor, "account.notices", f"account:{account_id}", chosen)
