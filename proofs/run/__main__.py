"""prove-run: a service that is upgraded, watched, restored and documented while it works.

Two nodes behind HAProxy, with the configuration that is shipped, answer at the four addresses by TLS. They are stopped
and started again in turn while calls go on: none fails, the books are clean, and Prometheus sees all that dashboards
show. The image of all commands is built and started where the machine can. Then, each with stores of its own: a
database is lost and restored, old books are checked, and every command of the pages is run.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from proofs.rig.checks import Check, failed
from proofs.rig.proof import Run, prove, say
from proofs.run import addresses, books, image, pages, restoring, rolling
from proofs.run.house import House

LAST_LINE = (
    "failed_calls",
    "alerts",
    "queries",
    "restored_lost",
    "restore_s",
    "books_check_s",
    "docs_commands",
    "not_run",
    "drift",
    "image",
)

# What is shown, in this order. Each part notes its figures in the run and returns what it checked. The nodes are up
# when a part of the house begins, and must be up again when it ends.
PARTS: Sequence[Callable[[Run, House], Sequence[Check]]] = (addresses.answer, rolling.upgrade, image.built)
# Those that need no house.
PARTS_ALONE: Sequence[Callable[[Run], Sequence[Check]]] = (restoring.restored, books.checked, pages.hold)


def main(run: Run) -> int:
    checks: list[Check] = []
    with ExitStack() as stack:
        house = House(stack)
        for part in PARTS:
            _announce(part)
            checks += part(run, house)
    for part_alone in PARTS_ALONE:
        _announce(part_alone)
        checks += part_alone(run)
    return 1 if failed(checks, timed=run.judges_timings) else 0


def _announce(part: Callable[..., object]) -> None:
    say(f"-- {part.__module__.rpartition('.')[2]}")


if __name__ == "__main__":
    prove(main, *LAST_LINE)
