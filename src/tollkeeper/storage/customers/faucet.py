"""The faucet in PostgreSQL."""

from tollkeeper.core.people.faucet import WIDE_TIMES
from tollkeeper.ports.customers.faucet import FaucetOutcome, FaucetTerms, FaucetWish, Poured
from tollkeeper.storage.postgres.database import Database

GRANT = "select * from grant_faucet($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"


class SqlFaucet:
    """The `Faucet` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def grant(self, wish: FaucetWish, terms: FaucetTerms, *, actor: str) -> FaucetOutcome:
        text = wish.key_text
        key = (wish.key_name, text.pepper_version, text.digest, text.hint)
        figures = (terms.amount, terms.days, terms.per_network, terms.per_network * WIDE_TIMES, terms.per_day)
        who = (wish.account_id, wish.networks.narrow, wish.networks.wide)
        row = await self._database.row(GRANT, *who, *key, *figures, actor)
        return FaucetOutcome(Poured(row["verdict"]), row["key_id"], row["until"])
