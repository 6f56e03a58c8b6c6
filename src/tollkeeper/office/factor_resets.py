"""Second factors and passkeys of people who lost them: asked for by one member of staff, confirmed by another.

Rules of this file
1. Where commands run on the database's own host, asking is doing: see accounts/people/factor_resets.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from tollkeeper.accounts.people.factor_resets import ask_for_reset
from tollkeeper.accounts.people.factor_resets import confirm_reset as confirm
from tollkeeper.accounts.people.factor_resets import refuse_reset as refuse
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.rows import RowOnFile
from tollkeeper.office.wishes import AccountNumber, AccountReason, ReasonText
from tollkeeper.ports.factor_resets import FactorKind, ResetRecord


class ResetsWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber | None = None
    all: Annotated[bool, msgspec.Meta(description="Those that are done, refused or void, too.")] = False


class ResetNumber(msgspec.Struct, frozen=True, kw_only=True):
    reset: RowOnFile


class DecideResetWish(ResetNumber, frozen=True, kw_only=True):
    reason: ReasonText


class ResetView(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account: int
    what: FactorKind
    reason: str
    asked_at: datetime
    asked_by: str
    expires_at: datetime
    state: Literal["waiting", "done", "refused", "void"]
    decided_at: datetime | None
    decided_by: str | None
    decide_reason: str | None


class ResetAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`reset`: None where there was nothing to drop."""

    account: int
    reset: ResetView | None


@act("POST", "/accounts/{account}/login/drop-second-factor", Scope.SUPPORT)
async def drop_login_second_factor(office: Office, wish: AccountReason, by: Actor) -> ResetAsked:
    """Ask that a second factor be dropped, for somebody who lost the app and all recovery codes, and has shown
    otherwise who they are. The owner is told; another member of staff confirms it within a day."""
    return await _ask(office, wish, FactorKind.SECOND_FACTOR, by)


@act("POST", "/accounts/{account}/login/drop-passkeys", Scope.SUPPORT)
async def drop_login_passkeys(office: Office, wish: AccountReason, by: Actor) -> ResetAsked:
    """Ask that every passkey be dropped, for somebody whose account somebody else was in, or who lost every device. The
    owner is told; another member of staff confirms it within a day."""
    return await _ask(office, wish, FactorKind.PASSKEYS, by)


@act("GET", "/resets", Scope.READ)
async def list_resets(office: Office, wish: ResetsWish, by: Actor) -> Listed[ResetView]:
    """The second factors and passkeys that staff asked to drop and that wait for a second person, the newest first."""
    rows = await office.front_desk.factor_resets.page(
        account_id=wish.account, waiting_only=not wish.all, before_id=wish.after_row(), limit=wish.limit + 1
    )
    now = office.now()
    return listed([_view(row, now) for row in rows], wish.limit, lambda row: row.id)


@act("GET", "/resets/{reset}", Scope.READ)
async def show_reset(office: Office, wish: ResetNumber, by: Actor) -> ResetView:
    """Who asked for it and why, and who decided."""
    return _view(await office.front_desk.factor_resets.record(wish.reset), office.now())


@act("POST", "/resets/{reset}/confirm", Scope.SUPPORT)
async def confirm_reset(office: Office, wish: DecideResetWish, by: Actor) -> ResetView:
    """Drop what another member of staff asked to drop. The owner is told, and their sessions end."""
    return _view(await confirm(office.front_desk, wish.reset, wish.reason, by=by), office.now())


@act("POST", "/resets/{reset}/refuse", Scope.SUPPORT)
async def refuse_reset(office: Office, wish: DecideResetWish, by: Actor) -> ResetView:
    """Leave everything as it is. Whoever asked takes it back by this."""
    return _view(await refuse(office.front_desk, wish.reset, wish.reason, by=by), office.now())


async def _ask(office: Office, wish: AccountReason, what: FactorKind, by: Actor) -> ResetAsked:
    asked = await ask_for_reset(office.front_desk, wish.account, what, wish.reason, by=by)
    return ResetAsked(account=wish.account, reset=None if asked is None else _view(asked, office.now()))


def _view(row: ResetRecord, now: datetime) -> ResetView:
    is_void = row.outcome is None and row.expires_at <= now
    return ResetView(
        id=row.id,
        account=row.account_id,
        what=row.what,
        reason=row.reason,
        asked_at=row.asked_at,
        asked_by=row.asked_by,
        expires_at=row.expires_at,
        state="void" if is_void else "waiting" if row.outcome is None else row.outcome.value,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        decide_reason=row.decide_reason,
    )


ACTS = (drop_login_second_factor, drop_login_passkeys, list_resets, show_reset, confirm_reset, refuse_reset)
