"""Parts of a price: what may cost otherwise than plain input and output.

Rules of this file
1. Every part that is not set in the price book costs what it would be without it: written, image and audio input what
   plain input costs, image and audio output what plain output costs, the call itself and a tool's use nothing.
2. A share of the input is cached, written, image, audio or plain, and never two of these; likewise of the output.
3. Multipliers are integers of millionths of the model's multiplier, which is the price of plain input unless `input`
   says otherwise; amounts for a call and a tool's use are micro-quota.
4. A tier holds for the whole of a call whose input, cached and written included, is longer than it says.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

# No vendor's tool is used so often in one answer. Of a report of more, so many are believed, and all else that it says.
USES_MOST = 1_000


class Part(StrEnum):
    """Tokens that may have a price of their own. The values are names of fields, in journals and in the books."""

    WRITTEN_5M = "written_5m"
    WRITTEN_1H = "written_1h"
    IMAGE_INPUT = "image_input"
    AUDIO_INPUT = "audio_input"
    IMAGE_OUTPUT = "image_output"
    AUDIO_OUTPUT = "audio_output"


OF_INPUT = (Part.WRITTEN_5M, Part.WRITTEN_1H, Part.IMAGE_INPUT, Part.AUDIO_INPUT)
OF_OUTPUT = (Part.IMAGE_OUTPUT, Part.AUDIO_OUTPUT)
# What parts of a price, and tiers, may set a weight of.
WEIGHTS = ("input", *(part.value for part in Part))


class UsageParts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many of a call's tokens each part has; and how often each of the vendor's tools was used."""

    # Into a cache that lives for five minutes, and for an hour.
    written_5m: int = 0
    written_1h: int = 0
    image_input: int = 0
    audio_input: int = 0
    image_output: int = 0
    audio_output: int = 0
    tools: Mapping[str, int] = msgspec.field(default_factory=dict)

    @property
    def input_units(self) -> int:
        return self.written_5m + self.written_1h + self.image_input + self.audio_input

    @property
    def output_units(self) -> int:
        return self.image_output + self.audio_output

    @property
    def plausible(self) -> bool:
        counts = (self.written_5m, self.written_1h, self.image_input, self.audio_input)
        outputs = (self.image_output, self.audio_output)
        return min(*counts, *outputs, *self.tools.values()) >= 0

    def without_output(self) -> "UsageParts | None":
        """The same call, where of its output no more is known than how much it was."""
        rest = msgspec.structs.replace(self, image_output=0, audio_output=0)
        return None if rest == NO_PARTS else rest


NO_PARTS = UsageParts()


class PriceTier(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call costs whose input is long; what is not set is as in the row."""

    above_tokens: int
    model: int
    completion: int | None = None
    cached: int | None = None
    input: int | None = None
    written_5m: int | None = None
    written_1h: int | None = None
    image_input: int | None = None
    audio_input: int | None = None
    image_output: int | None = None
    audio_output: int | None = None

    @property
    def weights(self) -> dict[str, int]:
        """What it sets of the weights that stand among a row's parts."""
        named = {name: getattr(self, name) for name in WEIGHTS}
        return {name: own for name, own in named.items() if own is not None}


class PriceParts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a row of the price book says beyond input, output and cached input."""

    # Plain input, where its price does not divide those of the others: all of them are told by one multiplier then.
    input: int | None = None
    written_5m: int | None = None
    written_1h: int | None = None
    image_input: int | None = None
    audio_input: int | None = None
    image_output: int | None = None
    audio_output: int | None = None
    # Micro-quota for each call that is charged at all, and for each use of a vendor's tool, by the tool's name.
    per_call: int = 0
    tools: Mapping[str, int] = msgspec.field(default_factory=dict)
    # By rising length.
    tiers: tuple[PriceTier, ...] = ()

    @property
    def has_later_weights(self) -> bool:
        """Whether there are weights that came later than the others: older versions pass over them in silence."""
        return self.input is not None or any(tier.weights for tier in self.tiers)

    def tier(self, input_units: int) -> PriceTier | None:
        """The one that holds for so much input."""
        found = None
        for tier in self.tiers:
            if input_units > tier.above_tokens:
                found = tier
        return found
