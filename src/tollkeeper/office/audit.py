"""The audit trail: every act of staff, with who and why, in a chain of hashes."""

from typing import Annotated

import msgspec

from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.audit import AuditQuery, AuditRow


class AuditWish(Paging, frozen=True, kw_only=True):
    """Which rows of the audit trail; an empty text leaves a question open."""

    actor: Annotated[str, msgspec.Meta(max_length=200, description="Who acted, as `operator:anna`.")] = ""
    action: Annotated[str, msgspec.Meta(max_length=100, description="An action, or its beginning: `account.`")] = ""
    subject: Annotated[str, msgspec.Meta(max_length=200, description="To whom or what, as `account:17`.")] = ""


class AuditVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the chain is whole; if not, the first row that does not follow from the one before."""

    is_whole: bool
    first_break: int | None


@act("GET", "/audit", Scope.READ)
async def list_audit(office: Office, wish: AuditWish, by: Actor) -> Listed[AuditRow]:
    """What was done, by whom and why: the newest first."""
    query = AuditQuery(actor=wish.actor, action=wish.action, subject=wish.subject)
    rows = await office.audit_trail.page(query, before_id=wish.after_key(int), limit=wish.limit + 1)
    return listed(rows, wish.limit, lambda row: row.id)


@act("GET", "/audit/chain", Scope.READ)
async def verify_audit(office: Office, wish: NoWish, by: Actor) -> AuditVerdict:
    """Follow the chain of hashes from the first row to the last."""
    broken = await office.audit_trail.first_break()
    return AuditVerdict(is_whole=broken is None, first_break=broken)


ACTS = (list_audit, verify_audit)
