"""Check the books, closed days once: those that were found clean are sealed, and then only compared with their seals.

Rules of this file
1. Sums over all time (`invariants.BALANCES`) are added up from every row in every check. Only what compares rows of one
   call with each other is left out for sealed days.
2. A sealed day counts as unchanged if nobody wrote to its tables (`leaves`), or else if its rows, every column of each,
   still have their digest. In `READ_WHOLE_EVERY_DAYS` daily checks the rows of every day are read once in any case.
3. A day is sealed a day after its end, when none of its holds is open, and only in a check that found nothing at all.
4. Where seals cannot be believed, every row is checked as if there were none.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from uuid import UUID

import asyncpg
import msgspec

from tollkeeper.ports.books import BooksReview, InvariantVerdict
from tollkeeper.storage.ledger.books import FROM_THE_FIRST_CALL, broken_invariants
from tollkeeper.storage.ledger.day_contents import FORMS, NEWEST_FORM, day_contents, table_contents
from tollkeeper.storage.ledger.lanes import Work, share, snapshot, together
from tollkeeper.storage.ledger.leaves import Look, Standpoint, added_up, leaves, look, standpoint
from tollkeeper.storage.ledger.seal_book import KeptSeals, days_to_seal, gone_for_a_reason, keep, missing_prices, read
from tollkeeper.storage.ledger.seals import (
    TABLES,
    BooksMark,
    DayContents,
    Leaf,
    Seal,
    SealKeys,
    TableContents,
    end_of,
    head_of,
)
from tollkeeper.storage.postgres.database import Database

READ_WHOLE_EVERY_DAYS = 30
MOST_DAYS_SHOWN = 100
LANES = 4

SEALS_UNBROKEN = "the seals of closed days are unbroken"
DAYS_UNCHANGED = "sealed days are what they were when they were checked"
PRICES_THERE = "I9 every price that sealed days name is there"


class BookReviewer:
    """`keep_holds`: how long closed holds are kept at least."""

    def __init__(self, database: Database, keys: SealKeys, *, keep_holds: timedelta, actor: str) -> None:
        self._database = database
        self._keys = keys
        self._keep_holds = keep_holds
        self._actor = actor

    async def review(self, *, everything: bool = False) -> BooksReview:
        """`everything`: compare the rows of every call, also of sealed days, and read those whole."""
        async with snapshot(self._database, LANES) as connections:
            kept = await read(connections[0], self._keys)
            check = _Check(connections, kept, everything=everything, keep_holds=self._keep_holds)
            invariants = broken_invariants(connections[0], FROM_THE_FIRST_CALL if everything else kept.end)
            if len(connections) == 1:
                verdicts, days = await invariants, await check.days()
            else:
                verdicts, days = await together(invariants, check.days())
            verdicts += [
                InvariantVerdict(SEALS_UNBROKEN, kept.broken),
                InvariantVerdict(DAYS_UNCHANGED, days.changed[:MOST_DAYS_SHOWN]),
                InvariantVerdict(PRICES_THERE, await missing_prices(connections[0], kept.seals)),
            ]
            here = await standpoint(connections[0])
        seals, sealed = kept.seals, 0
        if not any(verdict.findings for verdict in verdicts):
            mark = BooksMark(place=here.place, transaction=here.oldest_open, leaves=days.leaves)
            seals = await keep(self._database, self._keys, kept, days.fresh, mark, actor=self._actor)
            sealed = len(seals) - len(kept.seals)
        return BooksReview(
            verdicts=verdicts,
            sealed_through=seals[-1].day if seals else None,
            head=head_of(seals).hex(),
            days_kept=0 if everything else len(kept.seals),
            days_sealed=sealed,
        )


class _CheckedDays(msgspec.Struct, frozen=True, kw_only=True):
    changed: list[str]
    fresh: list[tuple[date, DayContents]]
    leaves: list[Leaf]


class _Check:
    """The check of days that are sealed or to be sealed, in one snapshot."""

    def __init__(
        self, connections: list[asyncpg.Connection], kept: KeptSeals, *, everything: bool, keep_holds: timedelta
    ) -> None:
        # The first is busy with the invariants, unless it is the only one.
        self._lanes = connections[1:] or connections
        self._kept = kept
        self._everything = everything
        self._keep_holds = keep_holds

    async def days(self) -> _CheckedDays:
        lane = self._lanes[0]
        # Nothing is added to a chain that is broken.
        due = [] if self._kept.broken else await days_to_seal(lane, self._kept.end)
        looks = await self._looks(await standpoint(lane))
        changed = await self._changed(looks)
        starts = [self._kept.end, *(end_of(day) for day in due)]
        fresh: list[DayContents] = await share(
            self._lanes, [partial(day_contents, since=since, day=day) for since, day in zip(starts, due, strict=False)]
        )
        further = await self._leaves(self._kept.end if looks else UUID(int=0), starts[-1])
        seen = [leaf for look_at in looks.values() for leaf in look_at.leaves]
        return _CheckedDays(
            changed=changed, fresh=list(zip(due, fresh, strict=True)), leaves=added_up([*seen, *further])
        )

    async def _looks(self, here: Standpoint) -> Mapping[str, Look]:
        """At every table, where the mark of the last check can be used."""
        mark, seals = self._kept.mark, self._kept.seals
        if self._everything or mark is None or not seals or not here.can_compare(mark):
            return {}
        tables = FORMS[NEWEST_FORM]
        works: list[Work[Look]] = [partial(look, table=table, seals=seals, mark=mark) for table in tables.values()]
        return dict(zip(tables, await share(self._lanes, works), strict=True))

    async def _leaves(self, since: UUID, until: UUID) -> list[Leaf]:
        works: list[Work[list[Leaf]]] = [
            partial(leaves, table=table, since=since, until=until) for table in FORMS[NEWEST_FORM].values()
        ]
        return [leaf for found in await share(self._lanes, works) for leaf in found]

    async def _changed(self, looks: Mapping[str, Look]) -> list[str]:
        starts = [UUID(int=0), *(end_of(seal.day) for seal in self._kept.seals)]
        asked = [
            (name, seal, since)
            for seal, since in zip(self._kept.seals, starts, strict=False)
            for name in TABLES
            if name not in looks or seal.day in looks[name].suspects or self._has_its_turn(seal.day)
        ]
        works: list[Work[TableContents]] = [
            partial(table_contents, form=seal.read().form, name=name, since=since, day=seal.day)
            for name, seal, since in asked
        ]
        found = await share(self._lanes, works)
        findings = [await self._finding(name, seal, now) for (name, seal, _), now in zip(asked, found, strict=True)]
        return [finding for finding in findings if finding is not None]

    def _has_its_turn(self, day: date) -> bool:
        return (self._kept.today - day).days % READ_WHOLE_EVERY_DAYS == 0

    async def _finding(self, name: str, seal: Seal, now: TableContents) -> str | None:
        was = seal.read().tables[name]
        if now == was:
            return None
        if now.rows == 0 and await gone_for_a_reason(
            self._lanes[0], name, seal.day, self._kept.today, self._keep_holds
        ):
            return None
        return f"{seal.day}: {name} {_difference(was, now)}"


def _difference(was: TableContents, now: TableContents) -> str:
    if was.rows != now.rows:
        return f"had {was.rows} rows when it was checked and has {now.rows}"
    if was.total != now.total:
        return f"added up to {was.total} when it was checked and adds up to {now.total}"
    return f"has {now.rows} rows as when it was checked, but not the same"
