"""Batches of redemption codes: made, handed out once, and then known only by their digests. Operators do that."""

from collections.abc import Callable, Sequence

import msgspec

from tollkeeper.accounts.people.staff import require_role
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.money.codes import code_digest, mint_code
from tollkeeper.core.one_line import one_line
from tollkeeper.core.partner.plan import MicroUsd, quota_of_micros
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.ports.customers.redemption import CodeDesk, NewBatch

CODES_MOST = 10_000
NOTE_CHARACTERS_MOST = 500


class BatchWish(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks for."""

    codes: int
    # What each of them is worth.
    usd_micros: MicroUsd
    months: int
    note: str = ""
    # Whether others earn by them: cash for the inviter, gifts for both sides of a gift code.
    rewards: bool = True


class IssuedCodes(msgspec.Struct, frozen=True):
    """The codes are here and nowhere else. They are accepted from when they were exported."""

    batch_id: int
    codes: Sequence[str]


async def make_codes(wish: BatchWish, choose: Callable[[str], str], desk: CodeDesk, *, by: Actor) -> IssuedCodes:
    """Mint a batch and file its digests; `choose` picks one character of a string by chance fit for secrets.
    Raise RoleMissing."""
    require_role(by, Role.OPERATOR)
    note = wish.note.strip()
    if not 1 <= wish.codes <= CODES_MOST:
        raise ValueError(f"A batch has 1 to {CODES_MOST} codes.")
    if len(note) > NOTE_CHARACTERS_MOST:
        raise ValueError(f"The note has {len(note)} characters; shorten it to {NOTE_CHARACTERS_MOST} or fewer.")
    one_line(note, "A note")
    codes = [mint_code(choose) for _ in range(wish.codes)]
    batch = NewBatch(
        digests=[code_digest(code) for code in codes],
        quota=quota_of_micros(wish.usd_micros),
        usd_micros=wish.usd_micros,
        months=wish.months,
        note=note,
        rewards=wish.rewards,
    )
    return IssuedCodes(await desk.make(batch, actor=by.name), codes)


async def hand_out(batch_id: int, desk: CodeDesk, *, by: Actor) -> bool:
    """From now on its codes are accepted. Whether that was news. Raise RoleMissing."""
    require_role(by, Role.OPERATOR)
    return await desk.mark_exported(batch_id, actor=by.name)


async def revoke_codes(batch_id: int, reason: str, desk: CodeDesk, *, by: Actor) -> int | None:
    """How many codes are refused from now on; None where it was revoked before. Raise RoleMissing, or NotOnFile."""
    require_role(by, Role.OPERATOR)
    return await desk.revoke(batch_id, checked_reason(reason), actor=by.name)
