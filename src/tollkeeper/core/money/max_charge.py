"""A call that may cost no more than its caller says.

Rules of this file
1. Such a call is never charged more. What it costs beyond that is ours.
2. So that it is not much: the provider is told to say no more than fits, and an input that leaves no room for an answer
   is refused before anything is sent.
3. Where a provider cannot be told how much to make (images), or makes nothing beside what is known before, all of it
   must fit.
"""

import msgspec

from tollkeeper.core.errors import InputAboveMaxCharge
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.prices import Rate
from tollkeeper.core.money.quote import Ask, TokenCaps, most_output_tokens, quote


def tokens_within(most: Quota, ask: Ask, caps: TokenCaps, rate: Rate) -> int | None:
    """The most output, for each choice, that costs no more than `most`; None where there is none that could be limited.
    Raise InputAboveMaxCharge."""
    if ask.measured or ask.max_output_tokens == 0 or ask.likely_output_tokens is not None:
        needed = quote(ask, caps, rate)
        if needed > most:
            costs = "This call costs" if ask.measured else "This call may cost"
            raise InputAboveMaxCharge(f"{costs} {usd_exact(needed)} USD", usd_exact(most))
        return None
    fits = most_output_tokens(most, ask, rate)
    if fits is None:
        needed = quote(msgspec.structs.replace(ask, max_output_tokens=1), caps, rate)
        costs = f"The input, with one token of an answer, may cost {usd_exact(needed)} USD"
        raise InputAboveMaxCharge(costs, usd_exact(most))
    return fits
