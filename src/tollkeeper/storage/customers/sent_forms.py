"""Forms that are taken once, in PostgreSQL: of a thousand at the same time one is the first."""

import hashlib

from tollkeeper.storage.postgres.database import Database

SEND = "insert into sent_form (digest) values ($1) on conflict do nothing returning true"


class SqlSentForms:
    """The `SentForms` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def is_first(self, form_id: str) -> bool:
        return await self._database.row(SEND, hashlib.sha256(form_id.encode()).digest()) is not None
