"""Batches of redemption codes: opened under a name of their own, shown once, and then known only by their digests.
Operators do that.

Rules of this file
1. A batch has no codes until they are shown: what nobody was ever given cannot be redeemed.
2. Codes are shown once. Where they were lost, the batch is revoked and another one made.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tollkeeper.accounts.people.staff import require_role
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.money.codes import code_digest, mint_code
from tollkeeper.core.one_line import one_line
from tollkeeper.core.partner.plan import MicroUsd, quota_of_micros
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.redemption import CodeDesk, Filled, NewBatch, OpenedBatch

CODES_MOST = 10_000
NOTE_CHARACTERS_MOST = 500
NOT_FILLED: Mapping[Filled, str] = {
    Filled.FILLED_BEFORE: "The codes of batch {} were shown before, and only their digests are kept. Where they were "
    "lost, revoke the batch and make another one. Nothing was done.",
    Filled.REVOKED: "Batch {} is revoked. Make another one. Nothing was done.",
}


class BatchRefused(ValueError):
    """Codes that are not shown; the message says why."""


class BatchWish(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks for."""

    codes: int
    # What each of them is worth.
    usd_micros: MicroUsd
    months: int
    note: str = ""
    # Whether others earn by them: cash for the inviter, gifts for both sides of a gift code.
    rewards: bool = True
    # For how long they are accepted; None: until they are revoked.
    valid_days: int | None = None
    # Why they are made, where somebody says so.
    reason: str = ""


async def make_batch(wish: BatchWish, once: str, desk: CodeDesk, *, by: Actor) -> OpenedBatch:
    """Open a batch, once under this name. Raise RoleMissing."""
    require_role(by, Role.OPERATOR)
    note = wish.note.strip()
    if not 1 <= wish.codes <= CODES_MOST:
        raise ValueError(f"A batch has 1 to {CODES_MOST} codes.")
    if len(note) > NOTE_CHARACTERS_MOST:
        raise ValueError(f"The note has {len(note)} characters; shorten it to {NOTE_CHARACTERS_MOST} or fewer.")
    one_line(note, "A note")
    batch = NewBatch(
        codes=wish.codes,
        quota=quota_of_micros(wish.usd_micros),
        usd_micros=wish.usd_micros,
        months=wish.months,
        note=note,
        rewards=wish.rewards,
        valid_days=wish.valid_days,
        reason=checked_reason(wish.reason) if wish.reason else "",
    )
    return await desk.open_batch(batch, once=once, actor=by.name)


async def export_codes(batch_id: int, choose: Callable[[str], str], desk: CodeDesk, *, by: Actor) -> Sequence[str]:
    """Mint the codes of a batch, which are accepted from now on; the texts are here and nowhere else. `choose` picks
    one character of a string by chance fit for secrets. Raise RoleMissing, NotOnFile, or BatchRefused."""
    require_role(by, Role.OPERATOR)
    count = (await desk.batch(batch_id)).codes
    codes = [mint_code(choose) for _ in range(count)]
    filled = await desk.fill_batch(batch_id, [code_digest(code) for code in codes], actor=by.name)
    if filled is Filled.UNKNOWN:
        raise NotOnFile(f"There is no batch {batch_id}.")
    if filled is not Filled.FILLED:
        raise BatchRefused(NOT_FILLED[filled].format(batch_id))
    return codes


async def revoke_codes(batch_id: int, reason: str, desk: CodeDesk, *, by: Actor) -> int | None:
    """How many codes are refused from now on; None where it was revoked before. Raise RoleMissing, or NotOnFile."""
    require_role(by, Role.OPERATOR)
    return await desk.revoke(batch_id, checked_reason(reason), actor=by.name)
