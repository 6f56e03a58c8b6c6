"""Quotes: what to hold before a call is sent upstream.

Rules of this file
1. A hold covers the input, as it was counted or by a bound, and the most output that the caller asked for, or what the
   catalog expects.
2. A model that thinks before it speaks is held for its maximum output: its thoughts are charged and cannot be counted.
3. Images, audio and files are held for by their size, up to what a model can read: what they come to is known from the
   provider's report alone, and whoever could not pay for it must not begin.
4. Where parts of the input or output may cost more than plain ones, all of it is held for at the dearest that may come.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.parts import OF_INPUT, OF_OUTPUT, Part, UsageParts
from tollkeeper.core.money.prices import Price, Rate, Usage

# A provider may count otherwise than we do: an answer within its cap is not broken off for a few tokens' difference.
CAP_SLACK_TOKENS = 64
CAP_SLACK_PART = 8
# Of prose in most languages.
BYTES_PER_TOKEN = 4


class TokenCaps(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog says of a model's tokens."""

    max_output_tokens: int = 16_384
    hold_output_tokens: int = 4_096
    context_tokens: int = 128_000
    # What an image, an audio clip or a file in a message is taken to cost before the provider has said.
    hold_part_tokens: int = 2_000
    # It thinks before it speaks, and its thoughts are charged.
    hidden_reasoning: bool = False


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What of an order decides how much is held."""

    input_units: int
    # The bytes of texts among it that nobody has counted: `input_units` is the most that it can be then.
    uncounted_bytes: int = 0
    max_output_tokens: int | None = None
    # What each answer is taken to come to, where the order tells; it may be more.
    likely_output_tokens: int | None = None
    n: int = 1
    # The caller asks the model to think before it speaks.
    thinks: bool = False
    # There are images, audio or files in it, and what they come to only the provider knows.
    has_media: bool = False
    # The most of that, beyond what was counted for them.
    media_tokens: int = 0
    # Of these, what only a provider of the caller's own dialect is sent: charged where such a one does not report.
    untranslated_tokens: int = 0
    # What is priced is known before the call, and there is no output that would be: images, characters, seconds.
    measured: bool = False
    # What may come beside plain input and output, as far as the order tells.
    parts: frozenset[Part] = frozenset()
    # Tools of the vendor's that it has used in any case, and how often.
    tools: Mapping[str, int] = {}
    # Tools of the vendor's that it may use: held for once each, and charged as reported.
    may_use: frozenset[str] = frozenset()

    # What is held for it, where that was asked for already.
    quoted: Quota = Quota(0)

    @property
    def is_bound(self) -> bool:
        return self.uncounted_bytes > 0

    @property
    def likely_input_units(self) -> int:
        return self.input_units - self.uncounted_bytes + self.uncounted_bytes // BYTES_PER_TOKEN

    @property
    def uses_held(self) -> Mapping[str, int]:
        """How often each of the vendor's tools is held for."""
        return {**dict.fromkeys(self.may_use, 1), **self.tools}


# What images, audio and files in an order may come to.
OF_MEDIA = frozenset({Part.IMAGE_INPUT, Part.AUDIO_INPUT})


def expected(ask: Ask, caps: TokenCaps) -> Usage:
    """The usage that a hold must cover."""
    if ask.measured:
        return Usage(ask.input_units)
    input_units = ask.input_units + ask.media_tokens
    if ask.max_output_tokens is not None:
        each = min(ask.max_output_tokens, caps.max_output_tokens)
    elif ask.likely_output_tokens is not None:
        each = min(ask.likely_output_tokens, caps.max_output_tokens)
    elif caps.hidden_reasoning or ask.thinks:
        each = caps.max_output_tokens
    else:
        each = min(caps.hold_output_tokens, caps.max_output_tokens)
    return Usage(input_units, each * ask.n)


def with_slack(cap_tokens: int) -> int:
    return cap_tokens + cap_tokens // CAP_SLACK_PART + CAP_SLACK_TOKENS


def quote(ask: Ask, caps: TokenCaps, rate: Rate) -> Quota:
    usage = expected(ask, caps)
    return rate.ceiling(_dearest(usage.input_units, usage.output_units, ask, rate))


def quote_more(output_tokens: int, ask: Ask, rate: Rate) -> Quota:
    """What so much output costs beyond what is held for already."""
    input_units = ask.input_units + ask.media_tokens
    return rate.ceiling(_dearest(input_units, output_tokens, ask, rate), beyond=_dearest(input_units, 0, ask, rate))


def most_output_tokens(available: Quota, ask: Ask, rate: Rate) -> int | None:
    """The largest `max_tokens` whose hold fits into `available`; None where not even one token fits."""
    input_units = ask.input_units + ask.media_tokens
    return _largest(lambda tokens: rate.ceiling(_dearest(input_units, tokens * ask.n, ask, rate)) <= available)


def most_more_tokens(available: Quota, ask: Ask, rate: Rate) -> int | None:
    """How much more output fits into `available`, where the input is held for already."""
    return _largest(lambda tokens: quote_more(tokens, ask, rate) <= available)


def _largest(fits: Callable[[int], bool]) -> int | None:
    low, high = 0, 1 << 40
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low or None


def _dearest(input_units: int, output_units: int, ask: Ask, rate: Rate) -> Usage:
    """All of the input, and all of the output, might turn out to be of the dearest part that may come."""
    price, may_come, parts = rate.price.for_input(input_units), ask.parts, None
    if ask.has_media:
        may_come |= OF_MEDIA
    dearest_input, weight = _dearest_of(OF_INPUT, may_come, price, price.input)
    cached_units = input_units if price.cached > weight else 0
    dearest_output, _ = _dearest_of(OF_OUTPUT, may_come, price, price.completion)
    if dearest_input or dearest_output or ask.tools or ask.may_use:
        counts: dict[str, object] = {"tools": ask.uses_held}
        if dearest_output is not None:
            counts[dearest_output.value] = output_units
        if dearest_input is not None and not cached_units:
            counts[dearest_input.value] = input_units
        parts = msgspec.convert(counts, UsageParts)
    return Usage(input_units, output_units, cached_units, parts)


def _dearest_of(each: Iterable[Part], may_come: frozenset[Part], price: Price, plain: int) -> tuple[Part | None, int]:
    """The dearest part that costs more than a plain unit, and what it costs."""
    dearest, weight = None, plain
    if price.parts is not None and may_come:
        for part in each:
            if part in may_come and price.weight(part) > weight:
                dearest, weight = part, price.weight(part)
    return dearest, weight
