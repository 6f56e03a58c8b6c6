"""Dropping a second factor or passkeys for somebody who lost them: one member of staff asks, another confirms.

Rules of this file
1. Nobody confirms what they asked for, under whatever name, nor what concerns their own login.
2. What was asked for and not confirmed within a day is void.
3. Commands on the database's own host act alone: whoever runs them has the service's secrets. It is on record.
4. Support does this for customers, operators for staff as well.
"""

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.staff import login_of, require_over
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.logins import Actor
from tollkeeper.ports import AlreadyOnFile, NotOnFile
from tollkeeper.ports.factor_resets import FactorKind, ResetRecord, ResetVerdict

FACTOR_WORDS = {FactorKind.SECOND_FACTOR: "second factor", FactorKind.PASSKEYS: "passkeys"}


async def ask_for_reset(
    desk: FrontDesk, account_id: int, what: FactorKind, reason: str, *, by: Actor
) -> ResetRecord | None:
    """None: there is nothing to drop. A reset that is done already was asked for on the database's own host. Raise
    RoleMissing, NotOnFile, ValueError, or AlreadyOnFile where somebody asked already."""
    reason = checked_reason(reason)
    require_over(by, await login_of(desk, account_id, by=by))
    verdict, reset_id = await desk.factor_resets.ask(account_id, what, reason, actor=by.name)
    if verdict is ResetVerdict.ASKED_BEFORE:
        raise AlreadyOnFile(
            f"Somebody asked already that the {FACTOR_WORDS[what]} of account {account_id} be dropped. It waits to be "
            "confirmed by another member of staff. Nothing was done."
        )
    if verdict is ResetVerdict.UNKNOWN:
        raise NotOnFile(f"Account {account_id} has no login.")
    return None if reset_id is None else await desk.factor_resets.record(reset_id)


async def confirm_reset(desk: FrontDesk, reset_id: int, reason: str, *, by: Actor) -> ResetRecord:
    """The factor is dropped, the owner's sessions end, and the owner is told. Raise RoleMissing, NotOnFile,
    AlreadyOnFile, or ValueError."""
    reason = checked_reason(reason)
    await _require_over_reset(desk, reset_id, by)
    _refuse(await desk.factor_resets.confirm(reset_id, reason, actor=by.name))
    return await desk.factor_resets.record(reset_id)


async def refuse_reset(desk: FrontDesk, reset_id: int, reason: str, *, by: Actor) -> ResetRecord:
    """Everything stays as it is. Raise RoleMissing, NotOnFile, AlreadyOnFile, or ValueError."""
    reason = checked_reason(reason)
    await _require_over_reset(desk, reset_id, by)
    _refuse(await desk.factor_resets.refuse(reset_id, reason, actor=by.name))
    return await desk.factor_resets.record(reset_id)


async def _require_over_reset(desk: FrontDesk, reset_id: int, by: Actor) -> None:
    asked = await desk.factor_resets.record(reset_id)
    require_over(by, await login_of(desk, asked.account_id, by=by))


def _refuse(verdict: ResetVerdict) -> None:
    if verdict is ResetVerdict.DECIDED_BEFORE:
        raise AlreadyOnFile("This was decided before. Nothing was done.")
    if verdict in REFUSALS:
        raise ValueError(f"{REFUSALS[verdict]} Nothing was done.")


REFUSALS = {
    ResetVerdict.EXPIRED: "This was asked for more than a day ago, and is void. Ask again.",
    ResetVerdict.SAME_PERSON: "This may be who asked for it: the same login or another of its mailbox, a key that one "
    "made for the other, or an operator key that belongs to no login. Another member of staff confirms it, signed in "
    "or by a key of their own.",
    ResetVerdict.OWN: "This is your own login. Another member of staff confirms it.",
    ResetVerdict.NEWER: "The owner set up another one since this was asked for. If that is lost, too, ask again.",
}
