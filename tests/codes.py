"""Codes as somebody sells them, through the product's own use-cases."""

import secrets
from collections.abc import Sequence
from uuid import uuid4

import asyncpg

from tests.people import AN_OPERATOR
from tollkeeper.accounts.money.codes import BatchWish, export_codes, make_batch
from tollkeeper.ports import CodeDesk


async def sold(desk: CodeDesk, wish: BatchWish) -> Sequence[str]:
    """The codes of a new batch, which are accepted."""
    batch = await make_batch(wish, str(uuid4()), desk, by=AN_OPERATOR)
    return await export_codes(batch.batch_id, secrets.choice, desk, by=AN_OPERATOR)


async def take_back(owner: asyncpg.Connection) -> None:
    """As if nobody had ever been given the codes of the newest batch."""
    await owner.execute(
        "update redemption_batch set exported_at = null where id = (select max(id) from redemption_batch)"
    )
