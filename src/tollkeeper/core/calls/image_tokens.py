"""Images that are priced by token: how many tokens to hold for before the provider has said.

Rules of this file
1. What is charged is what the provider reports. These figures are for the hold, and for an answer without a report.
2. They are the most that is known for a size and quality. `auto` may turn out to be any of them, so it is the dearest.
"""

import re

from tollkeeper.core.money.quote import with_slack

AUTO = "auto"
# Of an image of 1024 x 1024, by quality; larger ones have more by their area.
TOKENS = {"low": 272, "medium": 1_056, "high": 4_160}
AREA = 1_024 * 1_024
# What `auto` makes is no larger than this.
LARGEST_USUAL_AREA = 1_024 * 1_536
# An image that is sent along: the tiles of the largest, and what high fidelity adds to them.
INPUT_IMAGE_TOKENS = 6_500

_SIZE = re.compile(r"(\d{2,5})x(\d{2,5})")


def output_tokens_each(size: str, quality: str) -> int:
    """The most that one image comes to. Sizes and qualities that are not known here are the provider's to refuse."""
    found = _SIZE.fullmatch(size)
    area = LARGEST_USUAL_AREA if found is None else int(found[1]) * int(found[2])
    return with_slack(-(-TOKENS.get(quality, TOKENS["high"]) * area // AREA))
