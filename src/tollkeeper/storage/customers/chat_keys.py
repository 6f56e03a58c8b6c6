"""Keys of the console's chat, in PostgreSQL."""

from tollkeeper.core.people.logins import SessionRecord
from tollkeeper.ports.customers.chat import ChatKeyStanding
from tollkeeper.ports.customers.desks import KeyText
from tollkeeper.storage.postgres.database import Database

OPEN = "select key_id, is_busy from open_chat_key($1, $2, $3, $4, $5, $6, $7, $8)"


class SqlChatKeys:
    """The `ChatKeys` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(
        self, session: SessionRecord, text: KeyText, name: str, *, lasts_seconds: int
    ) -> ChatKeyStanding | None:
        who = (session.account_id, session.session_id)
        kept = (name, text.pepper_version, text.digest, text.hint)
        actor = f"account:{session.account_id}"
        row = await self._database.row(OPEN, *who, *kept, lasts_seconds, actor)
        return None if row is None else ChatKeyStanding(row["key_id"], row["is_busy"])
