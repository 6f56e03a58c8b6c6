"""Calls of days gone by, through the ledger's own functions: each is held and settled at its moment of the clock.

`SqlLedger` takes several round trips for a call; here the server does the same for many calls in a row.
"""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.storage.ledger.ledger_rows import columns, hold_row, settle_row

LIVE = """
create function pg_temp.live(
    p_worker bigint, begun timestamptz[], ended timestamptz[],
    h_request uuid[], h_sequence smallint[], h_account bigint[], h_key bigint[], h_amount bigint[], h_price bigint[],
    h_group bigint[], h_input bigint[], h_seconds integer[],
    s_request uuid[], s_account bigint[], s_charge bigint[], s_input bigint[], s_cached bigint[], s_output bigint[],
    s_source text[], s_ending text[], s_attempts text[], s_parts text[]) returns void
language plpgsql as $$
declare
    judged text;
begin
    for i in 1 .. cardinality(begun) loop
        update moved_clock set shift = begun[i] - now();
        select h.verdict into judged from hold_batch(
            p_worker, h_request[i:i], h_sequence[i:i], h_account[i:i], h_key[i:i], h_amount[i:i], h_price[i:i],
            h_group[i:i], h_input[i:i], h_seconds[i:i]) h;
        if judged <> 'admitted' then
            raise exception 'the call at % was not admitted: %', begun[i], judged;
        end if;
        update moved_clock set shift = ended[i] - now();
        perform settle_batch(
            s_request[i:i], s_account[i:i], s_charge[i:i], s_input[i:i], s_cached[i:i], s_output[i:i], s_source[i:i],
            s_ending[i:i], s_attempts[i:i], s_parts[i:i]);
    end loop;
end $$
"""
PLACES = ", ".join(f"${number}" for number in range(1, 23))


class LivedCall(msgspec.Struct, frozen=True):
    begun_at: datetime
    ended_at: datetime
    order: HoldOrder
    settlement: Settlement


class PastLedger:
    def __init__(self, owner: asyncpg.Connection, worker_id: int) -> None:
        """`owner` is connected to a database whose clock can be moved (`demo.past.moved_clock`)."""
        self._owner = owner
        self._worker_id = worker_id

    async def open(self) -> None:
        await self._owner.execute(LIVE)

    async def live(self, calls: Sequence[LivedCall]) -> None:
        """One after the other."""
        if calls:
            moments = columns([(call.begun_at, call.ended_at) for call in calls])
            holds = columns([hold_row(call.order) for call in calls])
            settles = columns([settle_row(call.settlement) for call in calls])
            await self._owner.execute(f"select pg_temp.live({PLACES})", self._worker_id, *moments, *holds, *settles)
