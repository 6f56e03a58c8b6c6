"""Single calls by their request id: the receipt with its attempts, or why it was refused. Never what was said."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.refusal_words import words_for
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.office.act import act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.wishes import AccountNumber
from tollkeeper.ports import NotOnFile, RunningCall
from tollkeeper.ports.refused import RefusedCall


class CallWish(msgspec.Struct, frozen=True, kw_only=True):
    """`account`: show it only if it is this account's, for answering its owner."""

    request_id: UUID
    account: AccountNumber | None = None


class CallReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, what was counted and how, what it cost and why."""

    model: str
    kind: Kind
    # Of the price book.
    price: int
    price_since: datetime
    settled_at: datetime
    ending: Ending
    usage_source: UsageSource
    input_units: int
    cached_units: int
    output_units: int
    parts: UsageParts | None
    charged: Amount
    formula: str
    explanation: str
    attempts: Sequence[dict[str, Any]]


class CallRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """The code that the caller was told, and what it means. Kept for a day."""

    code: str
    meaning: str
    at: datetime


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """`receipt` where it is settled, `refusal` where it was refused. `started_at` and `held`: where it came so far that
    something was held for it."""

    request_id: UUID
    account: int
    key: int
    state: Literal["under_way", "settled", "refused"]
    started_at: datetime | None = None
    held: Amount | None = None
    receipt: CallReceipt | None = None
    refusal: CallRefusal | None = None


@act("GET", "/calls/{request_id}", Scope.READ)
async def show_call(office: Office, wish: CallWish, by: Actor) -> CallView:
    """A call by the x-request-id of its answer: its receipt and attempts, or why it was refused."""
    found = await office.receipts.find(wish.request_id, account_id=wish.account)
    if found is not None:
        return settled_call(found) if isinstance(found, Receipt) else _running(found)
    refused = await office.refused_calls.find(wish.request_id, account_id=wish.account)
    if refused is not None:
        return _refused(refused)
    whose = "" if wish.account is None else f" of account {wish.account}"
    raise NotOnFile(
        f"There is no call {wish.request_id}{whose}. Receipts of cleaned days are gone from the usage log. Calls that "
        "were refused are kept for a day, and only those of known keys."
    )


def _running(call: RunningCall) -> CallView:
    return CallView(
        request_id=call.request_id,
        account=call.account_id,
        key=call.key_id,
        state="under_way",
        started_at=call.started_at,
        held=amount_of(call.held),
    )


def settled_call(found: Receipt) -> CallView:
    price, usage = found.rate.price, found.usage
    receipt = CallReceipt(
        model=price.model_id,
        kind=found.kind,
        price=price.id,
        price_since=price.effective_from,
        settled_at=found.settled_at,
        ending=found.ending,
        usage_source=found.usage_source,
        input_units=usage.input_units,
        cached_units=usage.cached_units,
        output_units=usage.output_units,
        parts=usage.parts,
        charged=amount_of(found.charged),
        formula=found.formula,
        explanation=found.explanation,
        attempts=[dict(attempt) for attempt in found.attempts],
    )
    return CallView(
        request_id=found.request_id,
        account=found.account_id,
        key=found.key_id,
        state="settled",
        started_at=found.started_at,
        held=amount_of(found.held),
        receipt=receipt,
    )


def _refused(call: RefusedCall) -> CallView:
    return CallView(
        request_id=call.request_id,
        account=call.account_id,
        key=call.key_id,
        state="refused",
        refusal=CallRefusal(code=call.code, meaning=words_for(call.code), at=call.at),
    )


ACTS = (show_call,)
