"""What a node sees of the catalog: through its change feed, and as its callers are answered."""

from datetime import UTC, datetime

import msgspec

from tests.core.test_keys import RECORD
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.catalog.models import Kind, Offer
from tollkeeper.core.catalog.price_book import DEFAULT_GROUP, PriceBook
from tollkeeper.storage.catalog.models import SqlCatalog
from tollkeeper.storage.catalog.price_list import SqlPriceList
from tollkeeper.storage.postgres.changes import Change, Changes
from tollkeeper.storage.postgres.database import Database

CATALOG = Change("catalog", 0)


class NodeEyes:
    def __init__(self, gateway: Database) -> None:
        self._heard: list[Change] = []
        self._changes = Changes(gateway)
        self._changes.subscribe(self._heard.append)
        self._catalog = SqlCatalog(gateway, self._changes)
        self._prices = SqlPriceList(gateway, self._changes)

    async def learns(self) -> bool:
        """Whether the change feed says that the catalog is another one than at the last look."""
        self._heard.clear()
        await self._changes.look()
        return CATALOG in self._heard

    async def offer(self, model: str, group: str = DEFAULT_GROUP) -> Offer:
        """What a caller of a group gets. Raise ModelNotFound."""
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
        caller = msgspec.structs.replace(RECORD, group=group, only_models=None)
        shelf = await self._catalog.shelf()
        return shelf.find(read_chat(msgspec.json.encode(body)), Kind.CHAT, caller, datetime.now(UTC))

    async def price_book(self, group: str = DEFAULT_GROUP) -> PriceBook:
        """What the price pages of a group are made of."""
        return await self._prices.for_group(group)
