"""Disputed charges: what customers say is wrong, with the evidence, and what staff decide."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from tollkeeper.accounts.disputes import credit_dispute, decline_dispute, dispute_of
from tollkeeper.core.money.amounts import quota_from_usd, usd_typed
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.usage.disputes import DisputeKind, DisputeState, proposed_reason
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.office.act import MoneyWish, act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.calls import CallView, settled_call
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import AccountNumber, ReasonText, Usd
from tollkeeper.ports.disputes import DisputeRecord


class DisputesWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber | None = None
    all: Annotated[bool, msgspec.Meta(description="Those that are decided, too.")] = False


class DisputeWish(msgspec.Struct, frozen=True, kw_only=True):
    request_id: UUID


class CreditDisputeWish(MoneyWish, frozen=True, kw_only=True):
    request_id: UUID
    usd: Annotated[Usd, msgspec.Meta(description="In USD; no more than was charged. Empty: the whole charge.")] = ""


class DeclineDisputeWish(DisputeWish, frozen=True, kw_only=True):
    reason: Annotated[ReasonText, msgspec.Meta(description="Why; the customer reads it on the receipt.")]


class DisputeView(msgspec.Struct, frozen=True, kw_only=True):
    """A charge that its payer holds to be wrong. `note`: the customer's words."""

    id: int
    request_id: UUID
    account: int
    kind: DisputeKind
    note: str
    charged: Amount
    opened_at: datetime
    state: DisputeState
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None
    credited: Amount | None
    lot: int | None


class DisputedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A dispute with its evidence. `call`: None where the usage log was cleaned of it."""

    dispute: DisputeView
    call: CallView | None
    # What may be said when it is credited.
    proposed_reason: str


class DisputeCredited(msgspec.Struct, frozen=True, kw_only=True):
    """`was_before`: it had been credited before, and nothing was done now."""

    request_id: UUID
    credited: Amount
    lot: int
    was_before: bool


@act("GET", "/disputes", Scope.READ)
async def list_disputes(office: Office, wish: DisputesWish, by: Actor) -> Listed[DisputeView]:
    """The charges that customers hold to be wrong and that wait for a decision, the newest first; with `all`, every
    one."""
    if wish.account is not None:
        await office.accounts.need(wish.account)
    rows = await office.disputes.page(
        account_id=wish.account, open_only=not wish.all, before_id=wish.after_row(), limit=wish.limit + 1
    )
    return listed([_view(row) for row in rows], wish.limit, lambda row: row.id)


@act("GET", "/disputes/{request_id}", Scope.READ)
async def show_dispute(office: Office, wish: DisputeWish, by: Actor) -> DisputedCall:
    """A dispute with its evidence: the receipt, the attempts, how it ended and by whose report it was counted."""
    found = await dispute_of(wish.request_id, office.disputes)
    call = await office.receipts.find(wish.request_id, account_id=found.account_id)
    receipt = call if isinstance(call, Receipt) else None
    return DisputedCall(
        dispute=_view(found),
        call=None if receipt is None else settled_call(receipt),
        proposed_reason=proposed_reason(found.kind, receipt),
    )


@act("POST", "/disputes/{request_id}/credit", Scope.MONEY)
async def credit_disputed_call(office: Office, wish: CreditDisputeWish, by: Actor) -> DisputeCredited:
    """Give a disputed charge back, or a part of it. A call is credited once, whoever asks for it how often."""
    found = await dispute_of(wish.request_id, office.disputes)
    amount = quota_from_usd(usd_typed(wish.usd)) if wish.usd else found.charged
    done, was_before = await credit_dispute(wish.request_id, amount, wish.reason, office.disputes, by=by)
    return DisputeCredited(
        request_id=wish.request_id, credited=amount_of(done.credited or 0), lot=done.lot_id or 0, was_before=was_before
    )


@act("POST", "/disputes/{request_id}/decline", Scope.SUPPORT)
async def decline_disputed_call(office: Office, wish: DeclineDisputeWish, by: Actor) -> DisputeView:
    """Leave a charge as it is, with words for the customer."""
    return _view(await decline_dispute(wish.request_id, wish.reason, office.disputes, by=by))


def _view(row: DisputeRecord) -> DisputeView:
    return DisputeView(
        id=row.id,
        request_id=row.request_id,
        account=row.account_id,
        kind=row.kind,
        note=row.note,
        charged=amount_of(row.charged),
        opened_at=row.opened_at,
        state=row.state,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        reason=row.reason,
        credited=None if row.credited is None else amount_of(row.credited),
        lot=row.lot_id,
    )


ACTS = (list_disputes, show_dispute, credit_disputed_call, decline_disputed_call)
