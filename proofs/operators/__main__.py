"""prove-operators: journeys of staff in a real browser, pages and an API with exactly the rights that their tables say.

`python -m proofs.operators --size small` runs everything, `--only 7` one journey and nothing else, and `--pictures
FOLDER` leaves pictures of every page. A journey is a function of a browser and a place, and stands in `journeys`.
"""

from contextlib import ExitStack

from playwright.sync_api import sync_playwright

from proofs.operators.journeys import IN_ALL, JOURNEYS
from proofs.rig.checks import failed
from proofs.rig.console.place import Place
from proofs.rig.console.travel import travelled
from proofs.rig.console.visitor import launched
from proofs.rig.proof import Run, prove

LAST_LINE = (
    *("journeys", "routes", "roles_matrix", "schemathesis_cases", "server_errors"),
    *("once", "p95_ms", "webhooks"),
)


def main(run: Run) -> int:
    with ExitStack() as stack:
        place = Place(stack)
        place.open()
        browser = launched(stack.enter_context(sync_playwright()))
        stack.callback(browser.close)
        checks = travelled(browser, place, run, JOURNEYS, IN_ALL)
    return 1 if failed(checks, timed=run.judges_timings) else 0


if __name__ == "__main__":
    prove(main, *LAST_LINE)
