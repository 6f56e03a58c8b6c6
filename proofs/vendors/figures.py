"""What calls come to, written down: tokens, and the charge in micro-quota."""

from collections.abc import Iterator, Mapping

import msgspec

from proofs.rig.checks import Check
from proofs.rig.sdks.judge import Evidence, named


class Figures(msgspec.Struct, frozen=True):
    """What a call comes to."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thinking_tokens: int
    charged: int


class Expected(msgspec.Struct, frozen=True):
    """Of an act of one call: what it comes to, and what its caller is told to be cached, and thoughts."""

    figures: Figures
    told: tuple[int, int | None] | None


def judge_figures(evidence: Evidence, expected: Mapping[str, Expected]) -> Iterator[Check]:
    """What was told, what is true and what was charged are as it is written down, by the name of the act."""
    charged = {receipt.key_id: receipt.charged for receipt in evidence.receipts}
    for part in evidence.parts:
        wanted = expected.get(part.name)
        if wanted is None:
            continue
        found = [
            Figures(
                truth.input_tokens,
                truth.cached_tokens,
                truth.output_tokens,
                truth.thinking_tokens,
                charged.get(part.key_id or 0, -1),
            )
            for truth in evidence.truths_of(part)
        ]
        said = evidence.of(part)
        told = said and said.parts_of_usage
        holds = found == [wanted.figures] and told == wanted.told
        yield Check(f"{named(part)}: figures", holds, f"told {told}, {found}, expected {wanted}")
