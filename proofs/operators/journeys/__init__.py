"""The journeys of staff through their pages, in one table."""

from collections.abc import Mapping

from proofs.operators.journeys import audit, providers
from proofs.rig.console.travel import Journey

# As many as there are to be.
IN_ALL = 14
JOURNEYS: Mapping[int, tuple[str, Journey]] = {
    1: ("a provider added, tested, seen with traffic and margin", providers.one_is_added_tested_and_earns),
    2: ("its key rotated under load without a failed call", providers.its_key_is_rotated_under_load),
    3: ("paused, drained, removed", providers.one_is_paused_drained_and_removed),
    14: ("the audit chain verified, and a break in it shown", audit.the_chain_verified_and_a_break_shown),
}
