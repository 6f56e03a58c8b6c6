"""Forecasts: what a call would cost at least, likely and at most, before it is made.

Rules of this file
1. At least: the input at its cheapest, and no answer. Likely: the input as it is counted, and as much of an answer as
   the catalog expects of the model, within the caller's cap. At most: the input at its dearest and all of the answer
   that is possible, with the slack that a provider's own count may have.
2. A cap does not bound a model that thinks: some vendors do not count thoughts toward it, and their reports are
   believed up to the model's own maximum (`core/money/charge`).
3. Tools that are used in any case are in all three. Those that may be used are in the last, once each, as in the hold.
4. Nothing is promised: a provider counts for itself. `x-max-charge-usd` is the promise.
"""

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.parts import Part, UsageParts
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, expected, quote, quote_more, with_slack


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    least: Quota
    likely: Quota
    most: Quota
    # What would be held.
    held: Quota
    likely_output: int
    most_output: int


def forecast(ask: Ask, caps: TokenCaps, rate: Rate) -> Forecast:
    held = quote(ask, caps, rate)
    if ask.measured:
        due = rate.charge(Usage(ask.input_units))
        return Forecast(least=due, likely=due, most=due, held=held, likely_output=0, most_output=0)
    asked = caps.max_output_tokens if ask.max_output_tokens is None else ask.max_output_tokens
    asked = min(asked, caps.max_output_tokens)
    likely = caps.hold_output_tokens if ask.likely_output_tokens is None else ask.likely_output_tokens
    likely_output = min(asked, likely) * ask.n
    most_each = caps.max_output_tokens if asked and (caps.hidden_reasoning or ask.thinks) else asked
    most_output = with_slack(most_each * ask.n) if most_each else 0
    used = UsageParts(tools=ask.tools)
    fresh, cached = (Usage(ask.input_units, 0, units, used) for units in (0, ask.input_units))
    more = most_output - expected(ask, caps).output_units
    return Forecast(
        least=min(rate.charge(fresh), rate.charge(cached)),
        likely=rate.charge(Usage(ask.input_units, likely_output, 0, _likely_parts(ask, likely_output))),
        most=Quota(held + (quote_more(more, ask, rate) if more > 0 else 0)),
        held=held,
        likely_output=likely_output,
        most_output=most_output,
    )


def _likely_parts(ask: Ask, output_tokens: int) -> UsageParts:
    """What an order of images makes is images; what else may come beside text is not expected."""
    makes_images = ask.likely_output_tokens is not None and Part.IMAGE_OUTPUT in ask.parts
    return UsageParts(tools=ask.tools, image_output=output_tokens if makes_images else 0)
