"""Rows that were run in full size, kept one by one in docs/reference/faults.json: a run may be ended early.

`python -m proofs.faults.kept` prints them as the table of the guide.

Rules of this file
1. A row replaces the one that an earlier run kept under its number and name.
2. Each says when, with which seed and on which commit it was run.
"""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from proofs.faults.rows import FAULTS, Row
from proofs.rig.project import PROJECT

FILE = PROJECT / "docs" / "reference" / "faults.json"
HEAD = "| | fault | load | served | refused | lost | double | ghost | worst recovery | verdict | seed, commit |"
RULE = "|---|---|---|---|---|---|---|---|---|---|---|"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    name: str
    load: str
    served: int
    refused: int
    cut: int
    in_flight: int
    unknown: int
    lost: int
    double: int
    ghost: int
    diff: int
    # None where nothing had to recover.
    worst_recovery_seconds: float | None
    # What did not hold.
    failed: Sequence[str]
    seed: int
    day: str
    commit: str


def kept() -> list[Kept]:
    return msgspec.json.decode(FILE.read_bytes(), type=list[Kept]) if FILE.exists() else []


def keep(rows: Sequence[Row], *, seed: int) -> None:
    """Write these rows beside those of other runs."""
    own = [_kept(row, seed) for row in rows]
    places = {(one.number, one.name) for one in own}
    everything = [one for one in kept() if (one.number, one.name) not in places] + own
    everything.sort(key=lambda one: (one.number not in FAULTS, one.number))
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(everything)) + b"\n")


def as_table(everything: Sequence[Kept]) -> str:
    return "\n".join([HEAD, RULE, *map(_line, everything)])


def _kept(row: Row, seed: int) -> Kept:
    tally, seconds = row.tally, row.worst_recovery_seconds
    return Kept(
        number=row.number,
        name=row.name,
        load=row.load,
        served=tally.served,
        refused=tally.refused,
        cut=tally.cut,
        in_flight=tally.in_flight,
        unknown=tally.unknown,
        lost=tally.lost,
        double=tally.double,
        ghost=tally.ghost,
        diff=tally.diff,
        worst_recovery_seconds=None if seconds is None else round(seconds, 1),
        failed=[f"{check.name}: {check.detail}" for check in row.checks if not check.holds],
        seed=seed,
        day=datetime.now(UTC).date().isoformat(),
        commit=_commit(),
    )


def _line(one: Kept) -> str:
    recovery = "-" if one.worst_recovery_seconds is None else f"{one.worst_recovery_seconds} s"
    verdict = "; ".join(one.failed) or "holds"
    number = f"F{one.number}" if one.number in FAULTS else ""
    counts = (f"{count:,}" for count in (one.served, one.refused, one.lost, one.double, one.ghost))
    return f"| {' | '.join((number, one.name, one.load, *counts, recovery, verdict, f'{one.seed}, {one.commit}'))} |"


def _commit() -> str:
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


if __name__ == "__main__":
    print(as_table(kept()))
