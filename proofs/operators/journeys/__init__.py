"""The journeys of staff through their pages, in one table."""

from collections.abc import Mapping

from proofs.operators.journeys import audit, catalog, customers, providers, support
from proofs.rig.console.travel import Journey

# As many as there are to be.
IN_ALL = 14
JOURNEYS: Mapping[int, tuple[str, Journey]] = {
    1: ("a provider added, tested, seen with traffic and margin", providers.one_is_added_tested_and_earns),
    2: ("its key rotated under load without a failed call", providers.its_key_is_rotated_under_load),
    3: ("paused, drained, removed", providers.one_is_paused_drained_and_removed),
    4: ("a model added, edited, hidden", catalog.a_model_added_edited_and_hidden),
    5: ("a price changed with preview, announced, charged", catalog.a_price_previewed_announced_and_charged),
    6: ("a batch of codes exported once, redeemed, revoked", catalog.codes_made_exported_redeemed_and_revoked),
    7: ("a customer found, their timeline read, credited with a reason", customers.a_customer_found_read_and_credited),
    8: ("reading as a customer refuses every act", customers.reading_as_refuses_every_act),
    9: ("a group's limits and price hold for its members", catalog.a_group_that_holds_for_its_members),
    10: ("a refund", customers.a_refund),
    11: ("a withdrawal approved by one person and paid by another", customers.a_withdrawal_by_two_people),
    12: ("a ban with its evidence lifted", support.a_ban_with_its_evidence_lifted),
    13: ("a disputed charge credited, and one that credits itself", support.disputed_charges_credited),
    14: ("the audit chain verified, and a break in it shown", audit.the_chain_verified_and_a_break_shown),
}
