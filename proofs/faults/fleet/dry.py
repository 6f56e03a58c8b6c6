"""F11: one account is called until it runs dry. `prove-ledger` races processes for one balance."""

import asyncio
from collections.abc import Iterator

from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.callers import Kind, Load
from proofs.faults.fleet.expect import no_stream_is_cut, nothing_said, refused_only_with
from proofs.faults.fleet.scenario import Scenario
from proofs.faults.fleet.site import Fleet
from proofs.rig.customers import Customer, fill_keys
from proofs.rig.database import connect, exact_charge
from proofs.rig.proof import say

WORDS = 8
CAPPED = (Kind(f"tokens={WORDS}", WORDS, False, WORDS), Kind(f"tokens={WORDS}", WORDS, True, WORDS))
# What such a call costs, about.
PRICE = exact_charge(20, WORDS)
SHORT = "insufficient_account_quota"

OPEN = "insert into account (name) values ('dry') returning id"
GRANT = """
insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
select $1, $2, $2, 'operator', 'dry ' || n, interval '9 months', now() + interval '9 months'
from generate_series(1, 3) n
"""
LEFT = "select sum(granted)::bigint as granted, sum(remaining)::bigint as remaining from lot where account_id = $1"
SPENT = """
select coalesce(sum(charged), 0)::bigint as charged, coalesce(max(held), 0)::bigint as held
from usage where account_id = $1
"""
OWED = "select coalesce(sum(amount), 0)::bigint from entry where account_id = $1 and kind = 'debt'"


class DryAccount:
    def __init__(self, calls: int) -> None:
        """With about enough for half of so many calls."""
        self._calls = calls
        self._id = 0

    def open(self, fleet: Fleet) -> Iterator[Customer]:
        return iter(asyncio.run(self._open(fleet)))

    def judge(self, fleet: Fleet) -> str:
        return asyncio.run(self._judge(fleet))

    async def _open(self, fleet: Fleet) -> list[Customer]:
        connection = await connect(fleet.pair.url)
        try:
            self._id = await connection.fetchval(OPEN)
            await connection.execute(GRANT, self._id, PRICE * self._calls // 6)
            # More than are wanted: the last calls are begun after the last one is counted.
            return await fill_keys(connection, fleet.settings, [self._id] * (2 * self._calls), fleet.chance)
        finally:
            await connection.close()

    async def _judge(self, fleet: Fleet) -> str:
        connection = await connect(fleet.pair.url)
        try:
            left = await connection.fetchrow(LEFT, self._id)
            spent = await connection.fetchrow(SPENT, self._id)
            owed = await connection.fetchval(OWED, self._id)
        finally:
            await connection.close()
        granted, remaining, charged = left["granted"], left["remaining"], spent["charged"]
        say(f"granted {granted:,}, charged {charged:,}, left {remaining:,}, owed {owed:,}; a hold is {spent['held']:,}")
        wrong = {
            "more was spent than there was": charged > granted or remaining < 0,
            "what was spent is not what is missing": charged != granted - remaining,
            "there is debt although everybody gave a cap": owed != 0,
            "it did not run dry": remaining >= 2 * spent["held"],
        }
        return "; ".join(problem for problem, is_so in wrong.items() if is_so)


def dry_account(amounts: Amounts) -> list[Scenario]:
    account = DryAccount(amounts.dry_calls)
    return [
        Scenario(
            number=11,
            name="one account runs dry",
            load=Load(per_second=amounts.dry_per_second, kinds=CAPPED),
            faults=[],
            calls_after=amounts.dry_calls,
            expects=[no_stream_is_cut, refused_only_with(SHORT), nothing_said],
            customers=account.open,
            afterwards=account.judge,
        )
    ]
