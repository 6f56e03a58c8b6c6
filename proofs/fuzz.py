"""prove-fuzz: no bytes that anybody sends make our readers raise what they should not, or think for long.

Every target of `tools/fuzz` is searched by Atheris, or blindly where that is not to be had: readers of orders, forms
and headers, of answers of every vendor and of their errors. Small: 20 seconds a target; full: ten minutes.
"""

from proofs.rig.proof import Run, prove, say, seed
from tools.fuzz.__main__ import all_hold, figures, report
from tools.fuzz.campaign import campaign
from tools.fuzz.target import names

SECONDS = {"small": 20.0, "full": 600.0}


def main(run: Run) -> int:
    seconds = SECONDS[run.size]
    say(f"{len(names())} targets, {seconds:.0f} s each")
    outcomes = campaign(names(), seconds, seed())
    report(outcomes)
    run.figures |= figures(outcomes)
    return 0 if all_hold(outcomes, judges_timings=run.judges_timings) else 1


if __name__ == "__main__":
    prove(main, "targets", "executions", "crashes", "slow", "slowest_cpu_ms")
