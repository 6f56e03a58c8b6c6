"""Redemption codes: batches of them, made once and shown once; and a code redeemed for an account.

Rules of this file
1. Making a batch moves money and may be sent again, so its answer, which is kept, has no codes in it. They are in the
   one answer to `export`, which is not kept.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.money.codes import CODES_MOST, BatchWish, export_codes, make_batch, revoke_codes
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.core.money.amounts import usd_typed
from tollkeeper.core.partner.plan import micros_from_usd
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import TERM_MONTHS
from tollkeeper.office.act import MoneyWish, OnceWish, act
from tollkeeper.office.amounts import Amount, Cash, amount_of, cash_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.rows import RowOnFile, entitled
from tollkeeper.office.wishes import AccountNumber, ReasonText, Usd
from tollkeeper.ports.customers.redemption import BatchRecord

DAYS_MOST = 3_660

CodeText = Annotated[str, msgspec.Meta(max_length=200)]


class NewBatchWish(MoneyWish, frozen=True, kw_only=True):
    codes: Annotated[int, msgspec.Meta(ge=1, le=CODES_MOST, description="How many.")]
    usd: Usd
    months: Annotated[int, msgspec.Meta(ge=1, le=120, description="Until what a code brought expires.")] = TERM_MONTHS
    valid_days: (
        Annotated[int, msgspec.Meta(ge=1, le=DAYS_MOST, description="For so long they are accepted; null: no end.")]
        | None
    ) = None
    note: Annotated[str, msgspec.Meta(max_length=2_000, description="What they are for, or for whom.")] = ""
    rewards: Annotated[bool, msgspec.Meta(description="Whether inviters and gift codes earn by them.")] = True


class MadeBatch(msgspec.Struct, frozen=True, kw_only=True):
    """`was_before`: it had been made under the same name, and nothing was made now."""

    batch: int
    was_before: bool


class BatchNumber(msgspec.Struct, frozen=True, kw_only=True):
    batch: RowOnFile


class BatchReason(BatchNumber, frozen=True, kw_only=True):
    reason: ReasonText


class BatchView(msgspec.Struct, frozen=True, kw_only=True):
    """A batch, without its codes. `exported_at` is null where they were never shown: then there are none."""

    id: int
    made_at: datetime
    made_by: str
    codes: int
    redeemed: int
    each: Cash
    months: int
    note: str
    rewards: bool
    exported_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    revoke_reason: str | None


class ExportedBatch(msgspec.Struct, frozen=True, kw_only=True):
    batch: int
    each: Cash
    months: int
    expires_at: datetime | None
    # Shown here and never again.
    codes: Sequence[str]


class RevokedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """How many codes are refused from now on; null where it was revoked before."""

    codes: int | None


class RedeemForWish(OnceWish, frozen=True, kw_only=True):
    account: AccountNumber
    code: CodeText
    gift_code: (
        Annotated[str, msgspec.Meta(max_length=300, description="Of whoever told them of us, or the invite link.")]
        | None
    ) = None
    reason: ReasonText


class RedeemedFor(msgspec.Struct, frozen=True, kw_only=True):
    """`was_before`: by this very account, some time ago; nothing was added now."""

    top_up: int
    paid: Cash
    gift: Amount
    lot: int
    expires_at: datetime
    was_before: bool


@act("GET", "/code-batches", Scope.READ)
async def list_batches(office: Office, wish: Paging, by: Actor) -> Listed[BatchView]:
    """The batches of codes, the newest first; of their codes only how many there are."""
    rows = await office.codes.batches(before_id=wish.after_row(), limit=wish.limit + 1)
    return listed([batch_view(row) for row in rows], wish.limit, lambda row: row.id)


@act("GET", "/code-batches/{batch}", Scope.READ)
async def show_batch(office: Office, wish: BatchNumber, by: Actor) -> BatchView:
    """A batch: what its codes bring, how many were redeemed, and until when they are accepted."""
    return batch_view(await office.codes.batch(wish.batch))


@act("POST", "/code-batches", Scope.MONEY)
async def make_codes(office: Office, wish: NewBatchWish, by: Actor) -> MadeBatch:
    """Make a batch of codes. They are shown by exporting it, once, and accepted from then on."""
    batch = BatchWish(
        codes=wish.codes,
        usd_micros=micros_from_usd(usd_typed(wish.usd)),
        months=wish.months,
        note=wish.note,
        rewards=wish.rewards,
        valid_days=wish.valid_days,
        reason=wish.reason,
    )
    made = await make_batch(batch, wish.once, office.codes, by=entitled(by))
    return MadeBatch(batch=made.batch_id, was_before=made.was_before)


@act("POST", "/code-batches/{batch}/export", Scope.MONEY)
async def export_batch(office: Office, wish: BatchReason, by: Actor) -> ExportedBatch:
    """Show the codes of a batch, once. From now on they are accepted. Where this answer is lost, revoke the batch."""
    codes = await export_codes(wish.batch, secrets.choice, office.codes, by=entitled(by))
    batch = await office.codes.batch(wish.batch)
    return ExportedBatch(
        batch=batch.id, each=cash_of(batch.usd_micros), months=batch.months, expires_at=batch.expires_at, codes=codes
    )


@act("POST", "/code-batches/{batch}/revoke", Scope.MONEY)
async def revoke_batch(office: Office, wish: BatchReason, by: Actor) -> RevokedBatch:
    """Refuse what is left of a batch from now on. What was redeemed stays."""
    return RevokedBatch(codes=await revoke_codes(wish.batch, wish.reason, office.codes, by=entitled(by)))


@act("POST", "/accounts/{account}/redeem", Scope.MONEY)
async def redeem_for(office: Office, wish: RedeemForWish, by: Actor) -> RedeemedFor:
    """Redeem a code for an account. A code is redeemed once, however often it is sent."""
    asked = RedeemWish(account_id=wish.account, code=wish.code, gift_code=wish.gift_code, ip=None)
    done = await redeem(asked, office.referral_terms, office.redemptions, actor=by.name)
    return RedeemedFor(
        top_up=done.top_up.id,
        paid=cash_of(done.top_up.usd_micros),
        gift=amount_of(done.top_up.gift),
        lot=done.top_up.lot_id,
        expires_at=done.top_up.lot_expires_at,
        was_before=done.before,
    )


def batch_view(batch: BatchRecord) -> BatchView:
    return BatchView(
        id=batch.id,
        made_at=batch.made_at,
        made_by=batch.made_by,
        codes=batch.codes,
        redeemed=batch.redeemed,
        each=cash_of(batch.usd_micros),
        months=batch.months,
        note=batch.note,
        rewards=batch.rewards,
        exported_at=batch.exported_at,
        expires_at=batch.expires_at,
        revoked_at=batch.revoked_at,
        revoked_by=batch.revoked_by,
        revoke_reason=batch.revoke_reason,
    )


ACTS = (list_batches, show_batch, make_codes, export_batch, revoke_batch, redeem_for)
