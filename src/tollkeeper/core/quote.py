"""Quotes: what to hold before a call is sent upstream.

Rules of this file
1. A hold covers the counted input and the most output that the caller asked for, or what the catalog expects.
2. A model that thinks before it speaks is held for its maximum output: its thoughts are charged and cannot be counted.
3. Images, audio and files are held for by their size, up to what a model can read: what they come to is known from the
   provider's report alone, and whoever could not pay for it must not begin.
"""

import msgspec

from tollkeeper.core.money import Quota
from tollkeeper.core.prices import MILLIONTHS, Rate, Usage


class TokenLimits(msgspec.Struct, frozen=True, kw_only=True):
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

    input_tokens: int
    max_output_tokens: int | None = None
    n: int = 1
    # The caller asks the model to think before it speaks.
    thinks: bool = False
    # There are images, audio or files in it, and what they come to only the provider knows.
    has_media: bool = False
    # The most of that, beyond what was counted for them.
    media_tokens: int = 0
    # What is priced is known before the call, and there is no output that would be: images, characters, seconds.
    measured: bool = False


def expected(ask: Ask, limits: TokenLimits) -> Usage:
    """The usage that a hold must cover."""
    if ask.measured:
        return Usage(ask.input_tokens)
    input_tokens = ask.input_tokens + ask.media_tokens
    if ask.max_output_tokens is not None:
        each = min(ask.max_output_tokens, limits.max_output_tokens)
    elif limits.hidden_reasoning or ask.thinks:
        each = limits.max_output_tokens
    else:
        each = min(limits.hold_output_tokens, limits.max_output_tokens)
    return Usage(input_tokens, each * ask.n)


def quote(ask: Ask, limits: TokenLimits, rate: Rate) -> Quota:
    usage = expected(ask, limits)
    return _dearest(usage.input_tokens, usage.output_tokens, rate)


def most_output_tokens(available: Quota, ask: Ask, rate: Rate) -> int | None:
    """The largest `max_tokens` whose hold fits into `available`; None where not even one token fits."""
    low, high = 0, 1 << 40
    while low < high:
        middle = (low + high + 1) // 2
        fits = _dearest(ask.input_tokens + ask.media_tokens, middle * ask.n, rate) <= available
        low, high = (middle, high) if fits else (low, middle - 1)
    return low or None


def _dearest(input_tokens: int, output_tokens: int, rate: Rate) -> Quota:
    """Where a cached token costs more than a fresh one, all of the input might turn out cached."""
    cached_tokens = input_tokens if rate.price.cached > MILLIONTHS else 0
    return rate.ceiling(Usage(input_tokens, output_tokens, cached_tokens))
