"""Charges: what a call costs, by how it ended and by what is known of its usage.

Rules of this file
1. How much of what was used is charged depends on the ending alone: see `CHARGED`.
2. What the provider reports of a complete answer counts, zeros included, unless it is impossible. A report of any other
   answer may be an early one, and what was counted since is not given away.
3. Without a report, what was counted on the way counts: input and output, or the input alone where no output was seen.
4. What was measured before the call (images, characters, seconds) is never charged beyond what was asked for.
5. Uses of a vendor's tools are charged as reported, of those tools that the order had.
6. The receipt says which of these applied.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import Protocol

import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.parts import NO_PARTS, USES_MOST
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, with_slack


class Ending(StrEnum):
    COMPLETED = "completed"
    UPSTREAM_BROKE = "upstream_broke"
    CLIENT_LEFT = "client_left"
    CUT = "cut"
    TIME_LIMIT = "time_limit"
    QUOTA_RAN_OUT = "quota_ran_out"
    MAX_CHARGE = "max_charge"
    REVOKED = "revoked"
    NODE_STOPPED = "node_stopped"
    REFUSED = "refused"
    OWNER_DIED = "owner_died"


class UsageSource(StrEnum):
    PROVIDER = "provider"
    COUNTED = "counted"
    COUNTED_INPUT = "counted_input"
    MEASURED = "measured"
    JOURNAL = "journal"
    CHECKPOINT = "checkpoint"
    NONE = "none"


# Of charges in which the input may not be as the provider reported it.
OF_COUNTS = frozenset({UsageSource.COUNTED, UsageSource.COUNTED_INPUT})


class Charged(Enum):
    """How much of what was used is charged."""

    ALL = auto()
    AT_MOST_WHAT_IS_HELD = auto()
    NOTHING = auto()


CHARGED: Mapping[Ending, Charged] = {
    Ending.COMPLETED: Charged.ALL,
    Ending.UPSTREAM_BROKE: Charged.ALL,
    Ending.CLIENT_LEFT: Charged.ALL,
    Ending.CUT: Charged.ALL,
    Ending.TIME_LIMIT: Charged.ALL,
    # Who was told that the quota is at its end owes nothing beyond it.
    Ending.QUOTA_RAN_OUT: Charged.AT_MOST_WHAT_IS_HELD,
    # The bill knows what the caller allowed.
    Ending.MAX_CHARGE: Charged.ALL,
    Ending.REVOKED: Charged.ALL,
    Ending.NODE_STOPPED: Charged.ALL,
    Ending.REFUSED: Charged.NOTHING,
    Ending.OWNER_DIED: Charged.AT_MOST_WHAT_IS_HELD,
}


class ChargeTerms(msgspec.Struct, frozen=True):
    """What was known of a call before it was sent."""

    ask: Ask
    token_caps: TokenCaps
    rate: Rate

    @property
    def most_tokens(self) -> int:
        """What the model can read, or say."""
        return self.token_caps.context_tokens * self.ask.n


class Readings(Protocol):
    """What a meter has read of an answer."""

    @property
    def reported(self) -> Usage | None:
        """The provider's last word."""
        ...

    @property
    def so_far(self) -> Usage | None:
        """What the provider said while it was at work."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens of output, as counted while the answer passed."""
        ...

    @property
    def guessed_tokens(self) -> int:
        """What of the output nobody could count."""
        ...


class Charge(msgspec.Struct, frozen=True):
    amount: Quota
    usage: Usage
    source: UsageSource

    def goes_by_input_of(self, ask: Ask) -> bool:
        """Whether it is by what was known of the input before the call, and not by what was reported."""
        return self.source in OF_COUNTS and self.usage.input_units == ask.input_units


NOTHING = Charge(Quota(0), Usage(0), UsageSource.NONE)


def needs_report(terms: ChargeTerms, meter: Readings) -> bool:
    """Whether only the provider's report says what was used: thoughts without words and uses of tools come at the end
    of an answer; what images, audio, files, written caches and what we cannot translate came to is said once, first or
    last."""
    ask = terms.ask
    if terms.token_caps.hidden_reasoning or ask.thinks or ask.uses_held:
        return True
    is_unknown = ask.has_media or ask.untranslated_tokens or (bool(ask.parts) and terms.rate.price.parts is not None)
    return bool(is_unknown) and meter.so_far is None and meter.reported is None


def charge(
    ending: Ending, terms: ChargeTerms, readings: Readings, *, complete: bool, covered_tokens: int, held: Quota
) -> Charge:
    """What a call costs that ended like this. `complete`: whether the answer was; `covered_tokens`: the output that was
    held for."""
    charged = CHARGED[ending]
    if charged is Charged.NOTHING:
        return NOTHING
    usage, source = used(terms, readings, complete=complete, covered_tokens=covered_tokens)
    amount = terms.rate.charge(usage)
    return Charge(min(amount, held) if charged is Charged.AT_MOST_WHAT_IS_HELD else amount, usage, source)


def used(terms: ChargeTerms, readings: Readings, *, complete: bool, covered_tokens: int) -> tuple[Usage, UsageSource]:
    """What is known of a call's usage, and where from."""
    usage, source = _used(terms, readings, complete=complete, covered_tokens=covered_tokens)
    return _with_tools(usage, terms.ask), source


def _with_tools(usage: Usage, ask: Ask) -> Usage:
    """With tools that an order uses in any case, for some vendors do not report them; and without those that it never
    had, or uses that nobody believes."""
    parts = usage.parts or NO_PARTS
    if not (parts.tools or ask.tools):
        return usage
    had = ask.may_use | ask.tools.keys()
    tools = {tool: min(uses, USES_MOST) for tool, uses in parts.tools.items() if tool in had}
    tools |= {tool: max(uses, tools.get(tool, 0)) for tool, uses in ask.tools.items()}
    parts = msgspec.structs.replace(parts, tools=tools)
    return msgspec.structs.replace(usage, parts=None if parts == NO_PARTS else parts)


def _used(terms: ChargeTerms, readings: Readings, *, complete: bool, covered_tokens: int) -> tuple[Usage, UsageSource]:
    report, asked_units = _believed(readings.reported, terms), terms.ask.input_units
    if terms.ask.measured:
        # Images beyond those that were asked for are the provider's gift: they are not charged.
        return Usage(min(report.input_units, asked_units) if report else asked_units), UsageSource.MEASURED
    if report and complete:
        return report, UsageSource.PROVIDER
    counted_tokens = min(_counted_tokens(readings, covered_tokens), terms.most_tokens)
    if report and report.output_units >= counted_tokens:
        return report, UsageSource.PROVIDER
    if report:
        return _with_output(report, counted_tokens), UsageSource.COUNTED
    so_far = _believed(readings.so_far, terms) or Usage(asked_units)
    # What was thought before it was spoken is known from such reports alone.
    output_tokens = max(counted_tokens, so_far.output_units)
    source = UsageSource.COUNTED if output_tokens else UsageSource.COUNTED_INPUT
    return _with_output(so_far, output_tokens), source


def _with_output(usage: Usage, output_tokens: int) -> Usage:
    """The input as it was reported, with an output that was counted."""
    parts = None if usage.parts is None else usage.parts.without_output()
    return Usage(usage.input_units, output_tokens, usage.cached_units, parts)


def _believed(report: Usage | None, terms: ChargeTerms) -> Usage | None:
    """A report of what a model can read and say; and not of more than the caller's cap, but for thoughts, which some
    vendors do not count toward it. Any other is treated as absent."""
    if report is None or not plausible(report, terms.most_tokens):
        return None
    ask, caps = terms.ask, terms.token_caps
    cap = ask.max_output_tokens
    if cap is None:
        return report
    if caps.hidden_reasoning or ask.thinks or report.beside_units:
        cap = max(cap, caps.max_output_tokens)
    return report if report.output_units <= with_slack(cap * ask.n) else None


def _counted_tokens(readings: Readings, covered_tokens: int) -> int:
    """The output as it was counted. A guess is charged as far as it was held for, and no further."""
    guessed_tokens = readings.guessed_tokens
    known_tokens = readings.output_tokens - guessed_tokens
    return known_tokens + min(guessed_tokens, max(0, covered_tokens - known_tokens))


def orphan_charge(input_units: int, output_units: int, rate: Rate, *, held: Quota) -> Charge:
    """What a call costs whose owner died: as far as its last checkpoint, and never more than was held."""
    usage = Usage(input_units, output_units)
    source = UsageSource.CHECKPOINT if output_units else UsageSource.COUNTED_INPUT
    return Charge(min(rate.charge(usage), held), usage, source)


def plausible(usage: Usage, most_tokens: int) -> bool:
    parts, own_input, own_output = usage.parts, usage.cached_units, 0
    if parts is not None:
        if not parts.plausible:
            return False
        own_input, own_output = own_input + parts.input_units, parts.output_units
    reads = 0 <= usage.cached_units <= own_input <= usage.input_units <= most_tokens
    return reads and 0 <= own_output <= usage.output_units <= most_tokens
