"""What else is asked about quota that was short, before its caller is told."""

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.ports import BudgetPeriod, Extension, HoldOrder, HoldOutcome, KeyBudget
from tollkeeper.storage.postgres.database import Database

# Whether what was short would be enough if every running call were free: of the account, of the key's quota, and of its
# budgets, which do not tell apart what is held. Each in one look: what is on its way back is here or there.
ENOUGH_ONCE_SETTLED = {
    HoldOutcome.ACCOUNT_SHORT: """
select b.held + coalesce((select sum(l.remaining) from lot l
                          where l.account_id = b.account_id and l.expires_at > ledger_now()), 0) >= $3 as enough
from account_books b where b.account_id = $1 and $2::bigint is not null
""",
    HoldOutcome.KEY_SHORT: """
select k.quota - b.used >= $3 as enough
from api_key k join key_books b on b.key_id = k.id where k.account_id = $1 and k.id = $2
""",
    HoldOutcome.BUDGET: """
select b.held > 0 and k.daily_budget >= $3 is not false and k.monthly_budget >= $3 is not false as enough
from api_key k join key_books b on b.key_id = k.id where k.account_id = $1 and k.id = $2
""",
}
# Of two that are short alike, the month's is told: it lasts longer. A budget that is not set is never short.
SHORTER_BUDGET = """
select today,
       coalesce(coalesce(k.daily_budget - case when b.day >= today then b.day_total else 0 end, 9223372036854775807)
                >= k.monthly_budget - case when date_trunc('month', b.day) >= date_trunc('month', today)
                                           then b.month_total else 0 end, false) as is_monthly
from api_key k join key_books b on b.key_id = k.id,
     lateral (select (ledger_now() at time zone 'UTC')::date as today) clock
where k.id = $1
"""

SHORT = frozenset(ENOUGH_ONCE_SETTLED)


async def is_enough_once_settled(database: Database, asked: HoldOrder | Extension, outcome: HoldOutcome) -> bool:
    """Whether running calls hold what was short, and may give it back."""
    try:
        found = await database.row(ENOUGH_ONCE_SETTLED[outcome], asked.account_id, asked.key_id, asked.amount)
    except StoreUnavailable:
        return False
    return bool(found["enough"])


async def shorter_budget(database: Database, key_id: int) -> KeyBudget | None:
    """Which of a key's budgets is short; None where that cannot be found out."""
    try:
        found = await database.row(SHORTER_BUDGET, key_id)
    except StoreUnavailable:
        return None
    return KeyBudget.of(BudgetPeriod.MONTH if found["is_monthly"] else BudgetPeriod.DAY, found["today"])
