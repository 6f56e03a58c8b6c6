"""The rolling upgrade, under load: the schema of a next version first, then each node is stopped and started again.

Shows: no call fails, not even one that is under way when its node is stopped; each call has one receipt; books clean.
Each turn brings a migration of its own, applied while both nodes serve; both then go on, and start again, over it.
Prometheus watches meanwhile: every query of the dashboards gives data.
"""

import asyncio
import tempfile
import time
from collections import Counter
from pathlib import Path

from proofs.rig.books import settled_books
from proofs.rig.checks import Check
from proofs.rig.deployment import books_are_clean
from proofs.rig.patience import wait_until
from proofs.rig.proof import Run, say
from proofs.run.house import House
from proofs.run.load import Load, under_load
from proofs.run.next_version import NextVersion
from proofs.run.watching import checks_of_watching
from tollkeeper.storage.postgres.schema import newest_revision

TURNS = {"small": 1, "full": 5}
# Of the load before and after each change, so that both nodes have calls of every kind.
CALLS_BETWEEN = 24


def upgrade(run: Run, house: House) -> list[Check]:
    turns = TURNS[run.size]
    migrated, exits = [], []
    with tempfile.TemporaryDirectory(prefix="tollkeeper-next-") as folder, under_load(house) as load:
        version = NextVersion(Path(folder), newest_revision())
        for _ in range(turns):
            _wait_for_calls(load)
            migrated.append(_migrate(house, version))
            exits += [_restart(house, load, name) for name in house.nodes]
        _wait_for_calls(load)
        # Dashboards show what goes on, so they are read while it does.
        seen = checks_of_watching(run, house.prometheus, house.watched)
    run.figures["failed_calls"] = len(load.failed)
    for each in load.failed[:5]:
        say(f"failed: {each.order.text} at {each.order.host}: {each.heard}")
    checks = _booked(house, load)
    return [
        Check("no call fails while nodes are stopped and started", not load.failed, f"{len(load.failed)} failed"),
        Check("each turn brings a newer schema, while calls go on", migrated == [True] * turns, f"{migrated}"),
        Check("nodes end by themselves", not any(exits), f"exits {exits}"),
        *checks,
        *seen,
    ]


def _migrate(house: House, version: NextVersion) -> bool:
    """As an upgrade begins: the new version's schema first, while all nodes serve with the old code."""
    url = house.settings["TOLLKEEPER_DATABASE_URL"]
    return version.apply(url).steps == 1 and asyncio.run(version.is_in_force(url))


def _restart(house: House, load: Load, name: str) -> int:
    _wait_for_calls(load)
    begun = time.monotonic()
    status = house.stop(name)
    stopped = time.monotonic()
    house.start(name)
    say(
        f"node {name}: stopped in {stopped - begun:.1f} s, up again {time.monotonic() - stopped:.1f} s later, "
        f"{len(load.placed):,} calls so far, {len(load.failed)} failed"
    )
    return status


def _wait_for_calls(load: Load) -> None:
    enough = len(load.placed) + CALLS_BETWEEN
    wait_until(lambda: len(load.placed) >= enough)


def _booked(house: House, load: Load) -> list[Check]:
    calls = len(load.placed)
    books = settled_books(house.settings, [customer.key_id for customer in house.customers], expected=calls)
    receipts = [receipt for customer in house.customers for receipt in books.of(customer.key_id)]
    times = Counter(receipt.request_id for receipt in receipts)
    told = {each.heard.answer.request_id for each in load.placed}
    charged = sum(receipt.charged for receipt in receipts)
    say(f"{calls:,} calls, {len(receipts):,} receipts")
    return [
        Check(
            "each call has one receipt", len(receipts) == calls and set(times) == told, f"{len(receipts)} of {calls}"
        ),
        Check("what was charged was entered", charged == books.entered_for(receipts) > 0),
        Check("the books are clean", books_are_clean(house.settings)),
    ]
