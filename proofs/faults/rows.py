"""Rows of the fault table: what each fault came to, how rows add up, and how the table is printed."""

from collections.abc import Sequence

import msgspec

from proofs.rig.checks import Check
from proofs.rig.proof import say

FAULTS = range(1, 16)
# The check that every row has.
BOOKS = "the books are clean"
FIGURES = ("faults", "calls", "lost", "double", "ghost", "unknown", "diff", "worst_recovery_s")
COLUMNS = "{:<4}{:<48}{:<22}{:>8}{:>9}{:>6}{:>8}{:>7}{:>10}  {}"


class Tally(msgspec.Struct, kw_only=True):
    """What the join of one scenario found."""

    calls: int = 0
    served: int = 0
    refused: int = 0
    cut: int = 0
    hung: int = 0
    lost: int = 0
    double: int = 0
    ghost: int = 0
    unknown: int = 0
    diff: int = 0
    # How often calls were sent to a provider, or were about to be.
    attempts: int = 0
    # Settled for a worker that died.
    in_flight: int = 0
    # More was charged than was held, or a refusal was charged.
    overcharged: int = 0
    left_open: int = 0

    @property
    def is_clean(self) -> bool:
        wrong = (self.lost, self.double, self.ghost, self.diff, self.overcharged, self.left_open, self.hung)
        return not any(wrong)

    def plus(self, other: "Tally") -> "Tally":
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a fault came to, as the table has it."""

    number: int
    name: str
    load: str
    tally: Tally
    checks: Sequence[Check]
    # None where nothing had to recover.
    worst_recovery_seconds: float | None = None

    def holds(self, *, timed: bool) -> bool:
        return all(check.holds or (check.timed and not timed) for check in self.checks)


def figures(rows: Sequence[Row], *, timed: bool) -> dict[str, object]:
    """What the last line says of all rows together. A fault counts as shown where each of its rows holds."""
    numbers = {row.number for row in rows if row.number in FAULTS}
    shown = [number for number in numbers if all(row.holds(timed=timed) for row in rows if row.number == number)]
    added = _added(rows)
    recoveries = [row.worst_recovery_seconds for row in rows if row.worst_recovery_seconds is not None]
    return {
        "faults": f"{len(shown)}/{len(FAULTS)}",
        "calls": added.calls,
        "lost": added.lost,
        "double": added.double,
        "ghost": added.ghost,
        "unknown": added.unknown,
        "diff": added.diff,
        "worst_recovery_s": round(max(recoveries, default=0.0), 1),
    }


def print_table(rows: Sequence[Row], *, timed: bool) -> None:
    say(COLUMNS.format("", "fault", "load", "served", "refused", "lost", "double", "ghost", "recovery", "verdict"))
    for row in sorted(rows, key=lambda row: (row.number not in FAULTS, row.number)):
        print_row(row, timed=timed)


def print_row(row: Row, *, timed: bool) -> None:
    tally, seconds = row.tally, row.worst_recovery_seconds
    counts = (tally.served, tally.refused, tally.lost, tally.double, tally.ghost)
    recovery = "-" if seconds is None else f"{seconds:.1f} s"
    verdict = "holds" if row.holds(timed=timed) else "FAILS"
    number = f"F{row.number}" if row.number in FAULTS else ""
    say(COLUMNS.format(number, row.name, row.load, *counts, recovery, verdict))


def _added(rows: Sequence[Row]) -> Tally:
    total = Tally()
    for row in rows:
        total = total.plus(row.tally)
    return total
