"""The books and the simulators' truth about the agents' calls, joined call by call."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from proofs.rig.database import connect
from proofs.rig.patience import came_true
from tools.simulator import Simulator

SETTLED_WITHIN_SECONDS = 15
RECEIPTS = """
select request_id::text, key_id, input_units, output_units, cached_units, charged, usage_source, ending,
    jsonb_array_length(attempts) as attempts
from usage
"""
UNDER_WAY = "select count(*) from hold where closed_at is null"


class TruthRow(msgspec.Struct, frozen=True):
    """One line of a simulator's truth file."""

    request_id: str
    status: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0

    @property
    def written_5m(self) -> int:
        return self.cache_write_tokens - self.cache_write_1h_tokens

    @property
    def written_1h(self) -> int:
        return self.cache_write_1h_tokens


class AgentReceipt(msgspec.Struct, frozen=True):
    """One row of the usage log."""

    request_id: str
    key_id: int
    input_units: int
    output_units: int
    cached_units: int
    charged: int
    usage_source: str
    ending: str
    attempts: int


class Books(msgspec.Struct, frozen=True):
    receipts: Sequence[AgentReceipt]
    under_way: int


def settled(database_url: str) -> Sequence[AgentReceipt]:
    """Of every call, once nothing is under way any more."""
    came_true(lambda: not _books(database_url).under_way, within_seconds=SETTLED_WITHIN_SECONDS)
    return _books(database_url).receipts


def truths(simulators: Iterable[Simulator]) -> Mapping[str, TruthRow]:
    """What was made for each call. Who refused made nothing."""
    rows = [row for simulator in simulators for row in msgspec.convert(simulator.truth(), list[TruthRow])]
    return {row.request_id: row for row in rows if row.status == 200}


def _books(database_url: str) -> Books:
    async def read() -> Books:
        connection = await connect(database_url)
        try:
            receipts = [AgentReceipt(*row) for row in await connection.fetch(RECEIPTS)]
            return Books(receipts, await connection.fetchval(UNDER_WAY))
        finally:
            await connection.close()

    return asyncio.run(read())
