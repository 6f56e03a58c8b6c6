"""Lots: staff extend one or take it back, with a reason."""

from datetime import datetime

from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.lots import Extended, LotDesk, TakenBack


class LotRefused(ValueError):
    """A lot that cannot be extended or taken back; the message says why."""


async def extend_lot(lot_id: int, until: datetime, reason: str, desk: LotDesk, *, actor: str) -> None:
    """Let a lot expire later. One in its grace comes back. Raise LotRefused, or NotOnFile."""
    extended = await desk.extend(lot_id, until, checked_reason(reason), actor=actor)
    if extended is Extended.UNKNOWN:
        raise NotOnFile(f"There is no lot {lot_id}.")
    if extended is Extended.CLOSED:
        raise LotRefused(f"Lot {lot_id} is closed: what was left of it is gone. Nothing was done; credit it anew.")
    if extended is Extended.NOT_LATER:
        raise LotRefused(
            f"Lot {lot_id} can only be extended: to a time ahead, later than it has now. Nothing was done."
        )


async def revoke_lot(lot_id: int, reason: str, desk: LotDesk, *, actor: str) -> TakenBack:
    """Take a lot back: what is left of it is gone, what was spent of it is owed. Raise LotRefused, or NotOnFile."""
    taken = await desk.revoke(lot_id, checked_reason(reason), actor=actor)
    if taken is None:
        raise LotRefused(f"Lot {lot_id} expired and is closed: there is nothing left to take back. Nothing was done.")
    return taken
