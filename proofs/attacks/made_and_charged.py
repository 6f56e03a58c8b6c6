"""Evidence: for each call, what its caller heard, what the provider's truth says was made, and what was charged."""

from collections.abc import Sequence

import msgspec

from proofs.attacks.search import Tried
from proofs.attacks.target import Target
from proofs.rig.books import Receipt, Truth, settled_books, truths_of

TOLD_WITHIN_SECONDS = 10.0
# What a provider sends so soon after a caller has left was made for that caller.
AFTERWARDS_SECONDS = 0.5
QUOTA_PER_INPUT_TOKEN = 1_250_000
QUOTA_PER_OUTPUT_TOKEN = 4 * QUOTA_PER_INPUT_TOKEN


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of one call."""

    tried: Tried
    receipts: Sequence[Receipt]
    truths: Sequence[Truth]
    entered: int

    @property
    def made(self) -> int:
        """What was made for this caller, by whichever accounts were asked."""
        left_at = self.tried.heard.left_at
        return sum(truth.made_by(None if left_at is None else left_at + AFTERWARDS_SECONDS) for truth in self.truths)

    @property
    def made_in_all(self) -> int:
        return sum(truth.output_tokens for truth in self.truths)

    @property
    def reported(self) -> int | None:
        """What the provider said of it, where it came to the end of its answer and said it."""
        last = self.truths[-1] if self.truths else None
        if last is None or last.ending != "finished":
            return None
        return self.tried.tried.way.answer.reported(last.output_tokens)

    @property
    def charged_quota(self) -> int:
        """For the output alone."""
        return self.entered - sum(receipt.input_units for receipt in self.receipts) * QUOTA_PER_INPUT_TOKEN

    @property
    def charged_tokens(self) -> int:
        return self.charged_quota // QUOTA_PER_OUTPUT_TOKEN


def gather(target: Target, tried: Sequence[Tried]) -> list[Evidence]:
    """Wait until no call is under way any more, and lay side by side what everybody says."""
    books = settled_books(target.settings, [one.tried.customer.key_id for one in tried])
    sent = {receipt.request_id for own in books.receipts.values() for receipt in own if receipt.ending != "refused"}
    truths = truths_of(target.simulator, sent, within_seconds=TOLD_WITHIN_SECONDS)
    return [
        Evidence(
            tried=one,
            receipts=(own := books.of(one.tried.customer.key_id)),
            truths=[line for receipt in own for line in truths[receipt.request_id]],
            entered=books.entered_for(own),
        )
        for one in tried
    ]
