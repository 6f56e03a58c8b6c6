"""Top-ups whose payment was taken back."""

from tollkeeper.accounts.people.staff import require_role
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.ports.customers.redemption import CodeDesk, TopUpRevoked


async def revoke_top_up(top_up_id: int, why: str, desk: CodeDesk, *, write_off: bool, by: Actor) -> TopUpRevoked:
    """Take a top-up back with every reward that came of it. Raise RoleMissing, or NotOnFile."""
    require_role(by, Role.SUPPORT)
    return await desk.revoke_top_up(top_up_id, write_off=write_off, why=checked_reason(why), actor=by.name)
