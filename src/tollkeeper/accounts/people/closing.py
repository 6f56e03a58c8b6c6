"""Closing an account, by its owner.

Rules of this file
1. It takes the password, the second factor where there is one, and the account's own e-mail, typed.
2. Nothing of the books moves: quota that is left stays on the account and expires as it would have.
3. Support can open the account again while the login is kept, for `KEPT_DAYS`.
"""

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.second_factor import OwnerProof, require_owner
from tollkeeper.accounts.people.sessions import owner
from tollkeeper.core.people.logins import NotThisEmail, RoleMissing, SessionRecord
from tollkeeper.ports.customers.closing import Closings

KEPT_DAYS = 30


async def close_account(
    desk: FrontDesk, closings: Closings, session: SessionRecord, typed_email: str, proof: OwnerProof
) -> None:
    """Its keys are revoked and its sessions over, this one too. Raise LoginRefusal. Staff lose their role first."""
    if session.role.is_staff:
        raise RoleMissing
    if typed_email.strip().lower() != (await desk.logins.of(session.account_id)).email:
        raise NotThisEmail
    await require_owner(desk, session, proof)
    await closings.close(session.account_id, actor=owner(session.account_id))
