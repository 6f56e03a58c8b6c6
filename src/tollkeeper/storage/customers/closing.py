"""Closed accounts in PostgreSQL: closed in one transaction, and forgotten by one function."""

from datetime import timedelta

from tollkeeper.ports import NotOnFile
from tollkeeper.storage.people.logins import CLOSE_EMAIL_CHANGES, CLOSE_LINKS
from tollkeeper.storage.people.sessions import REVOKE_ALL
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

# An account may have very many keys, which are all written anew: few in one statement, in as many rounds as it takes.
AT_ONCE_MOST = 20
ROUNDS_MOST = 25

# Locked before keys and sessions are looked for: what is made at the same moment is either ended here, or refused.
IS_DISABLED = "select disabled_at is not null from account where id = $1 for update"
CLOSE = """
update account set closed_at = ledger_now(), disabled_at = ledger_now() where id = $1
"""
REVOKE_KEYS = """
update api_key set revoked_at = ledger_now() where account_id = $1 and revoked_at is null returning id
"""
NOTIFY = "insert into outbox (kind, email) select 'account_closed', email from login where account_id = $1"
FORGET = "select forget_closed_accounts(ledger_now() - $1::interval, $2)"


class SqlClosings:
    """The `Closings` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def close(self, account_id: int, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            disabled: bool | None = await connection.fetchval(IS_DISABLED, account_id)
            if disabled is None:
                raise NotOnFile(f"There is no account {account_id}.")
            if disabled:
                # Closed before; or by us, and then it is not its owner's to close.
                return False
            await connection.execute(CLOSE, account_id)
            keys = len(await connection.fetch(REVOKE_KEYS, account_id))
            ended = len(await connection.fetch(REVOKE_ALL, account_id, None))
            # Links that are on their way would open what support may open again.
            await connection.execute(CLOSE_LINKS, account_id)
            await connection.execute(CLOSE_EMAIL_CHANGES, account_id)
            await connection.execute(NOTIFY, account_id)
            detail = {"keys": keys, "sessions": ended}
            await audit(connection, actor, "account.close", f"account:{account_id}", detail)
        await self._notifier.send()
        return True


class SqlClosedAccounts:
    """The `ClosedAccounts` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget(self, kept: timedelta) -> int:
        forgotten = 0
        for _ in range(ROUNDS_MOST):
            row = await self._database.row(FORGET, kept, AT_ONCE_MOST)
            forgotten += row[0]
            if row[0] < AT_ONCE_MOST:
                break
        return forgotten
