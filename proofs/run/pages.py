"""The pages: every command that they show works as it stands there, and what is generated is what the code says."""

from collections.abc import Sequence

from proofs.rig.checks import Check
from proofs.rig.proof import Run, say
from tools.documented.pages import documented_blocks
from tools.documented.session import run_documented
from tools.reference import stale_pages


def hold(run: Run) -> Sequence[Check]:
    """Notes `docs_commands`, `not_run` and `drift` in the run."""
    told = run_documented(documented_blocks(), say)
    stale = list(stale_pages())
    run.figures |= {"docs_commands": f"{told.passed}/{told.run}", "not_run": told.not_run, "drift": len(stale)}
    return [
        Check("every documented command works", told.passed == told.run > 0, f"{told.not_run} are marked as not run"),
        Check("no generated page is out of date", not stale, ", ".join(stale)),
    ]
