"""prove-fuzz: no bytes that anybody sends make our readers raise what they should not, or think for long.

Every target of `tools/fuzz` is searched by Atheris, or blindly where that is not to be had: readers of orders, forms
and headers, of answers of every vendor and of their errors. Small: 20 seconds a target; full: ten minutes.
"""

import sys

from tools.fuzz.__main__ import report
from tools.fuzz.campaign import campaign
from tools.fuzz.target import names
from tools.proofs import judges_timings, say, seed, size

SECONDS = {"small": 20.0, "full": 600.0}


def main() -> int:
    chosen = size()
    seconds = SECONDS[chosen]
    say(f"{len(names())} targets, {seconds:.0f} s each")
    return report(campaign(names(), seconds, seed()), judges_timings=judges_timings(chosen))


if __name__ == "__main__":
    sys.exit(main())
