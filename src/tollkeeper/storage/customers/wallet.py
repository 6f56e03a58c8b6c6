"""What an account has, in PostgreSQL: one query, because every page shows it."""

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.lots import Lot
from tollkeeper.core.money.runway import days_left
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.wallet import Wallet
from tollkeeper.storage.postgres.database import Database

# A lot of a key that was revoked counts in the balance, but nobody can spend it any more.
WALLET = """
with mine as (
    select l.id, l.remaining, l.expires_at, l.key_id, k.revoked_at is null as in_use
    from lot l left join api_key k on k.id = l.key_id
    where l.account_id = $1 and l.expires_at > ledger_now() and l.closed_at is null),
week as (
    select key_id, sum(charged) as charged from usage_day
    where account_id = $1 and day >= (ledger_now() at time zone 'UTC')::date - 7
      and day < (ledger_now() at time zone 'UTC')::date
    group by key_id)
select a.id, a.name, a.group_name, coalesce(i.email, '') as email, b.held, b.debt, ledger_now() as now,
       (select coalesce(sum(remaining), 0) from mine) as balance,
       array(select (id, remaining, expires_at, key_id) from mine where remaining > 0 and in_use) as lots,
       (select coalesce(sum(charged), 0) from week) as week_charged,
       array(select (key_id, charged) from week where key_id in (select key_id from mine where in_use)) as week_of_keys
from account a join account_books b on b.account_id = a.id left join login i on i.account_id = a.id
where a.id = $1
"""


class SqlWallets:
    """The `Wallets` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, account_id: int) -> Wallet:
        row = await self._database.row(WALLET, account_id)
        if row is None:
            raise NotOnFile(f"There is no account {account_id}.")
        lots = [Lot(id=id_, remaining=left, expires_at=end, key_id=key) for id_, left, end, key in row["lots"]]
        of_keys = {key: int(charged) for key, charged in row["week_of_keys"]}
        of_others = int(row["week_charged"]) - sum(of_keys.values())
        return Wallet(
            account_id=account_id,
            name=row["name"],
            email=row["email"],
            group=row["group_name"],
            balance=Quota(max(0, int(row["balance"]) - row["debt"])),
            held=Quota(row["held"]),
            debt=Quota(row["debt"]),
            week_charged=int(row["week_charged"]),
            days_left=days_left(lots, {None: of_others, **of_keys}, row["now"]),
        )
