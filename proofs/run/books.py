"""How long `books check` takes once closed days are sealed, and whether a row that is changed in one of them is found.

Alone: `python -m proofs.run.books`.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import ExitStack

from proofs.rig.checks import Check, failed
from proofs.rig.database import connect
from proofs.rig.deployment import deployment
from proofs.rig.proof import Run, prove, say
from proofs.run.past_books import write_past
from tools.node import command, tollkeeper
from tools.services import Postgres

CALLS = {"small": 200_000, "full": 10_000_000}
SECONDS_MOST = 20.0
# As a server with some memory would be set.
SERVER = {"shared_buffers": "2GB", "max_wal_size": "8GB"}
FIGURE = "books_check_s"

# A word of one receipt among millions, of a day two weeks ago: nothing that is added up changes.
CHANGE = """
update usage set usage_source = $1 where request_id = (
    select request_id from usage where request_id >= uuid_floor(date_trunc('day', now(), 'UTC') - interval '14 days')
    order by 1 limit 1)
"""

# Bytes on the disk of each partitioned table, its indexes included.
SIZES = """
select c.relname as name, sum(pg_total_relation_size(p.relid)) as bytes
from pg_class c, pg_partition_tree(c.oid) p
where c.relname = any ('{usage,hold,entry}') and c.relkind = 'p' group by 1 order by 1
"""


def checked(run: Run) -> list[Check]:
    """Check books twice, then with a row changed, then with it changed back. Notes `books_check_s` in the run."""
    calls = CALLS[run.size]
    with ExitStack() as stack:
        settings = deployment(stack, postgres=Postgres(settings=SERVER))
        command(settings, "migrate")
        asyncio.run(write_past(settings["TOLLKEEPER_DATABASE_URL"], calls))
        sizes = asyncio.run(_bytes_per_call(settings, calls))
        say(f"on the disk, bytes a call: {', '.join(f'{name} {size}' for name, size in sizes.items())}")
        first, first_s = _check(settings)
        say(f"{calls:,} calls: every row checked and every closed day sealed in {first_s:.1f} s")
        again, again_s = _check(settings)
        run.figures[FIGURE] = round(again_s, 1)
        say(f"checked again in {again_s:.1f} s")
        asyncio.run(_change(settings, "counted"))
        harmed, harmed_s = _check(settings)
        say(f"with one word of one receipt changed, that was found in {harmed_s:.1f} s")
        asyncio.run(_change(settings, "provider"))
        mended, _ = _check(settings)
    return [
        Check("the books are clean", first and again),
        Check("a check of sealed days is fast", again_s <= SECONDS_MOST, f"{again_s:.1f} s", timed=True),
        Check("a row that was changed in a sealed day is found", not harmed),
        Check("the books are clean again once it is as it was", mended),
    ]


def _check(settings: Mapping[str, str]) -> tuple[bool, float]:
    begun = time.monotonic()
    done = tollkeeper(settings, "books", "check")
    return done.returncode == 0, time.monotonic() - begun


async def _bytes_per_call(settings: Mapping[str, str], calls: int) -> dict[str, int]:
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        return {row["name"]: int(row["bytes"] // calls) for row in await connection.fetch(SIZES)}
    finally:
        await connection.close()


async def _change(settings: Mapping[str, str], source: str) -> None:
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        done = await connection.execute(CHANGE, source)
        assert done == "UPDATE 1", done
    finally:
        await connection.close()


def main(run: Run) -> int:
    return 1 if failed(checked(run), timed=run.judges_timings) else 0


if __name__ == "__main__":
    prove(main, FIGURE)
