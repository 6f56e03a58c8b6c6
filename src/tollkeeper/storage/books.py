"""The books' invariants, each a SQL query for the rows that break it. Clean books give no rows."""

from collections.abc import Mapping

import msgspec

from tollkeeper.storage.database import Database

INVARIANTS: Mapping[str, str] = {
    "I1 what an account was granted is what remains of it": """
        select format('account %s: granted %s, remaining %s, used %s', b.account_id, sum(l.granted),
                      sum(l.remaining), b.used) as finding
        from account_books b join lot l on l.account_id = b.account_id
        group by b.account_id having sum(l.granted) <> sum(l.remaining) + b.held + b.used - b.debt""",
    "I2 nothing is held without a hold": """
        select format('account %s: held %s', account_id, held) as finding from account_books where held <> 0
        union all
        select format('key %s: held %s', key_id, held) from key_books where held <> 0""",
    "I5 a lot bound to a key belongs to that key's account": """
        select format('lot %s of account %s: bound to key %s of account %s', l.id, l.account_id, k.id,
                      k.account_id) as finding
        from lot l join api_key k on k.id = l.key_id where k.account_id <> l.account_id""",
    "every account has its books": """
        select format('account %s', a.id) as finding
        from account a left join account_books b on b.account_id = a.id where b.account_id is null""",
    "every key has its books": """
        select format('key %s', k.id) as finding
        from api_key k left join key_books b on b.key_id = k.id where b.key_id is null""",
    "the audit trail is unbroken": """
        select format('audit row %s', id) as finding
        from (select a.*, audit_hash(coalesce(lag(hash) over w, ''), a) as expected, lag(id) over w as before
              from audit a window w as (order by id)) chain
        where hash <> expected or id <> coalesce(before, 0) + 1""",
}

MOST_FINDINGS_SHOWN = 20


class Verdict(msgspec.Struct, frozen=True):
    invariant: str
    findings: list[str]


async def check_books(database: Database) -> list[Verdict]:
    """Check every invariant on one snapshot of the database."""
    async with (
        database.session() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        return [
            Verdict(
                invariant,
                [row["finding"] for row in await connection.fetch(f"{sql} limit {MOST_FINDINGS_SHOWN}", timeout=3600)],
            )
            for invariant, sql in INVARIANTS.items()
        ]
