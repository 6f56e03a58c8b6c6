"""Disputed charges: what a customer can say is wrong, when a charge is given back at once, and what staff are proposed.

Rules of this file
1. A charge comes back by itself only where our own count says that nothing was delivered, and the fault is not the
   caller's: see `credits_itself`. Everything else is decided by a person.
2. A call that was cut or ended by a limit, or whose caller left, never comes back by itself: the provider worked.
"""

from datetime import timedelta
from enum import StrEnum

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.usage.receipt import ENDINGS, Receipt

NOTE_CHARACTERS_MOST = 500
DISPUTED_WITHIN = timedelta(days=60)
# Of one account in 24 hours.
DISPUTES_A_DAY = 5
# Calendar months that a charge lasts that came back, as other credits do.
CREDIT_MONTHS = 9

CREDITED_BY_RULE = "Charged, and by our own count nothing was delivered: credited at once."


class DisputeKind(StrEnum):
    """What the customer says is wrong."""

    NOTHING_CAME = "nothing_came"
    CUT_OFF = "cut_off"
    CHARGED_TWICE = "charged_twice"
    TOO_MUCH = "too_much"
    OTHER = "other"


class DisputeState(StrEnum):
    OPEN = "open"
    CREDITED = "credited"
    DECLINED = "declined"


# Endings that neither the caller nor a limit of the caller's brought about.
OUR_ENDINGS = frozenset({Ending.COMPLETED, Ending.UPSTREAM_BROKE, Ending.NODE_STOPPED, Ending.OWNER_DIED})


def credits_itself(receipt: Receipt) -> bool:
    """Whether something was charged and nothing was delivered. Chat alone is counted as it passes. Where an answer
    is complete the provider's report counts, whatever passed: a report of no output does not show that none came."""
    if receipt.kind is not Kind.CHAT or receipt.charged <= 0 or receipt.ending not in OUR_ENDINGS:
        return False
    if receipt.usage.output_units or (receipt.usage.parts is not None and receipt.usage.parts.tools):
        return False
    return receipt.usage_source is not UsageSource.PROVIDER or receipt.ending is not Ending.COMPLETED


SAID = {
    DisputeKind.NOTHING_CAME: "The customer says that nothing came.",
    DisputeKind.CUT_OFF: "The customer says that the answer was cut off.",
    DisputeKind.CHARGED_TWICE: "The customer says that the call was charged twice.",
    DisputeKind.TOO_MUCH: "The customer says that it was too much.",
    DisputeKind.OTHER: "The customer says that the charge is wrong.",
}


def proposed_reason(kind: DisputeKind, receipt: Receipt | None) -> str:
    """What staff may say when they credit it, for the record."""
    return SAID[kind] if receipt is None else f"{SAID[kind]} {ENDINGS[receipt.ending]}"
