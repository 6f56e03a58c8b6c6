"""Disputed charges: a customer says that a charge is wrong; staff credit it or say why not.

Rules of this file
1. One dispute for a call, of whoever was charged, within 60 days, and few a day.
2. What was charged though nothing was delivered comes back at once (core/usage/disputes).
3. Staff never credit more than was charged, and never a charge of their own.
"""

from uuid import UUID

from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.one_line import shown
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.usage.disputes import (
    DISPUTED_WITHIN,
    DISPUTES_A_DAY,
    NOTE_CHARACTERS_MOST,
    DisputeKind,
    credits_itself,
)
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.ports.disputes import DisputeRecord, Disputes, DisputeVerdict, NewDispute


class DisputeRefused(ValueError):
    """A charge that cannot be disputed; `verdict` says why."""

    def __init__(self, verdict: DisputeVerdict) -> None:
        super().__init__(f"{REFUSALS[verdict]} Nothing was done.")
        self.verdict = verdict


REFUSALS = {
    DisputeVerdict.UNKNOWN: "There is no such call of this account.",
    DisputeVerdict.DISPUTED_BEFORE: "This charge was disputed before.",
    DisputeVerdict.NOTHING_CHARGED: "Nothing was charged for this call.",
    DisputeVerdict.TOO_OLD: f"Charges can be disputed for {DISPUTED_WITHIN.days} days.",
    DisputeVerdict.DAY_FULL: f"No more than {DISPUTES_A_DAY} charges can be disputed in 24 hours.",
}


async def dispute_charge(receipt: Receipt, kind: DisputeKind, note: str, disputes: Disputes) -> DisputeVerdict:
    """OPENED: staff decide on it. CREDITED: the charge came back. `note` becomes one line. Raise DisputeRefused, or
    ValueError for a note that is too long."""
    note = " ".join(shown(note).split())
    if len(note) > NOTE_CHARACTERS_MOST:
        raise ValueError(f"A note has at most {NOTE_CHARACTERS_MOST} characters. Nothing was done.")
    dispute = NewDispute(
        request_id=receipt.request_id,
        account_id=receipt.account_id,
        kind=kind,
        note=note,
        at_once=credits_itself(receipt),
    )
    verdict = await disputes.open(dispute, actor=f"account:{receipt.account_id}")
    if verdict in REFUSALS:
        raise DisputeRefused(verdict)
    return verdict


async def dispute_of(request_id: UUID, disputes: Disputes) -> DisputeRecord:
    """Raise NotOnFile."""
    found = await disputes.of_call(request_id, account_id=None)
    if found is None:
        raise NotOnFile(f"The charge of call {request_id} is not disputed.")
    return found


async def credit_dispute(
    request_id: UUID, amount: Quota, reason: str, disputes: Disputes, *, by: Actor
) -> tuple[DisputeRecord, bool]:
    """The dispute as it is now, and whether it had been credited before: then nothing was done. Raise ValueError,
    AlreadyOnFile, or NotOnFile."""
    verdict = await disputes.credit(request_id, amount, checked_reason(reason), actor=by.name)
    dispute = await dispute_of(request_id, disputes)
    if verdict is DisputeVerdict.TOO_MUCH:
        raise ValueError(
            f"No more than {usd_exact(dispute.charged)} USD was charged. Credit that, or less. Nothing was done."
        )
    _refuse_if_decided(verdict, DisputeVerdict.DECLINED_BEFORE)
    return dispute, verdict is DisputeVerdict.CREDITED_BEFORE


async def decline_dispute(request_id: UUID, words: str, disputes: Disputes, *, by: Actor) -> DisputeRecord:
    """`words`: what the customer reads. Raise ValueError, AlreadyOnFile, or NotOnFile."""
    verdict = await disputes.decline(request_id, checked_reason(words), actor=by.name)
    dispute = await dispute_of(request_id, disputes)
    _refuse_if_decided(verdict, DisputeVerdict.CREDITED_BEFORE, DisputeVerdict.DECLINED_BEFORE)
    return dispute


def _refuse_if_decided(verdict: DisputeVerdict, *decided: DisputeVerdict) -> None:
    if verdict is DisputeVerdict.OWN:
        raise ValueError("This is a charge of your own: somebody else decides on it. Nothing was done.")
    if verdict in decided:
        word = "credited" if verdict is DisputeVerdict.CREDITED_BEFORE else "declined"
        raise AlreadyOnFile(f"This dispute was {word} before. Nothing was done.")
