"""Charges: what a call costs, by how it ended and by what is known of its usage.

Rules of this file
1. What the provider reports counts, zeros included, unless it is impossible.
2. Without a report, what was counted on the way counts: input and output, or the input alone where no output was seen.
3. A call that was refused before any output costs nothing.
4. The receipt says which of these applied.
"""

from enum import StrEnum

import msgspec

from tollkeeper.core.money import Quota
from tollkeeper.core.prices import Rate, Usage


class Ending(StrEnum):
    COMPLETED = "completed"
    UPSTREAM_BROKE = "upstream_broke"
    CLIENT_LEFT = "client_left"
    CUT = "cut"
    TIME_LIMIT = "time_limit"
    QUOTA_RAN_OUT = "quota_ran_out"
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


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a call's usage when it ends."""

    reported: Usage | None = None
    counted: Usage
    # What is priced was known before the call: the characters of a text, the seconds of a file.
    measured: bool = False


class Charge(msgspec.Struct, frozen=True):
    amount: Quota
    usage: Usage
    source: UsageSource


def charge(ending: Ending, seen: Seen, rate: Rate, *, most_tokens: int) -> Charge:
    """What to charge; a report outside 0 … `most_tokens` is treated as absent."""
    if ending is Ending.REFUSED:
        return Charge(Quota(0), Usage(0), UsageSource.NONE)
    if seen.reported is not None and plausible(seen.reported, most_tokens):
        usage = seen.reported
        source = UsageSource.MEASURED if seen.measured else UsageSource.PROVIDER
    else:
        usage = seen.counted
        source = UsageSource.COUNTED if usage.output_tokens else UsageSource.COUNTED_INPUT
        source = UsageSource.MEASURED if seen.measured else source
    return Charge(rate.charge(usage), usage, source)


def orphan_charge(input_tokens: int, output_tokens: int, rate: Rate, *, held: Quota) -> Charge:
    """What a call costs whose owner died: as far as its last checkpoint, and never more than was held."""
    usage = Usage(input_tokens, output_tokens)
    source = UsageSource.CHECKPOINT if output_tokens else UsageSource.COUNTED_INPUT
    return Charge(min(rate.charge(usage), held), usage, source)


def plausible(usage: Usage, most_tokens: int) -> bool:
    return 0 <= usage.cached_tokens <= usage.input_tokens <= most_tokens and 0 <= usage.output_tokens <= most_tokens
