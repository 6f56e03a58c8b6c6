"""The journeys of staff through their pages, in one table."""

from collections.abc import Mapping

from proofs.operators.journeys import audit
from proofs.rig.console.travel import Journey

# As many as there are to be.
IN_ALL = 14
JOURNEYS: Mapping[int, tuple[str, Journey]] = {
    14: ("the audit chain verified, and a break in it shown", audit.the_chain_verified_and_a_break_shown),
}
