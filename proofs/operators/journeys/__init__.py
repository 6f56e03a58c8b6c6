"""The journeys of staff through their pages, in one table."""

from collections.abc import Mapping

from proofs.operators.journeys import audit, support
from proofs.rig.console.travel import Journey

# As many as there are to be.
IN_ALL = 14
JOURNEYS: Mapping[int, tuple[str, Journey]] = {
    12: ("a ban with its evidence lifted", support.a_ban_with_its_evidence_lifted),
    13: ("a disputed charge credited, and one that credits itself", support.disputed_charges_credited),
    14: ("the audit chain verified, and a break in it shown", audit.the_chain_verified_and_a_break_shown),
}
