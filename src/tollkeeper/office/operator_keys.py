"""Operator keys: made once, shown once, revoked at any time.

Rules of this file
1. Nobody makes a key that may do more than they may.
2. Whoever has every right makes keys for others. Anybody may see which key they act with.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core.keys import hint
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import (
    LIFETIME_MOST,
    NAME_CHARACTERS_MOST,
    NAME_PATTERN,
    OperatorKeyRecord,
    Scope,
    checked_key_name,
    mint_operator_key,
    operator_key_digest,
)
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed
from tollkeeper.office.wishes import Changed, NoWish, ReasonText
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.operators import NewOperatorKey

DAYS_MOST = LIFETIME_MOST.days
KeyName = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_CHARACTERS_MOST, pattern=NAME_PATTERN)]


class NewOperatorKeyWish(msgspec.Struct, frozen=True, kw_only=True):
    name: KeyName
    scopes: Annotated[list[Scope], msgspec.Meta(min_length=1)]
    days: Annotated[int, msgspec.Meta(ge=1, le=DAYS_MOST, description="After so many days it expires.")] = 90
    only_networks: Annotated[list[str], msgspec.Meta(max_length=100, description="As 10.0.0.0/8.")] | None = None
    account: (
        Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1, description="The staff login that it belongs to.")] | None
    ) = None
    reason: ReasonText = ""


class OperatorKeyName(msgspec.Struct, frozen=True, kw_only=True):
    name: KeyName
    reason: ReasonText


class OperatorKeyView(msgspec.Struct, frozen=True, kw_only=True):
    """An operator key, without its text."""

    name: str
    hint: str
    scopes: Sequence[Scope]
    only_networks: Sequence[str] | None
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None
    account: int | None


class MadeOperatorKey(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    # Shown here and never again.
    key: str
    expires_at: datetime


@act("GET", "/operator-keys", Scope.EVERYTHING)
async def list_operator_keys(office: Office, wish: NoWish, by: Actor) -> Listed[OperatorKeyView]:
    """The live operator keys, then those that ended in the last 90 days."""
    return Listed([view_of(record) for record in await office.operator_keys.listed()])


@act("POST", "/operator-keys", Scope.EVERYTHING)
async def create_operator_key(office: Office, wish: NewOperatorKeyWish, by: Actor) -> MadeOperatorKey:
    """Make an operator key. Its text is in the answer and nowhere else."""
    key = mint_operator_key(secrets.choice)
    expires_at = office.now() + timedelta(days=wish.days)
    order = NewOperatorKey(
        name=checked_key_name(wish.name),
        digest=operator_key_digest(key),
        hint=hint(key),
        scopes=frozenset(wish.scopes),
        expires_at=expires_at,
        only_networks=None if wish.only_networks is None else read_networks(wish.only_networks),
        account_id=wish.account,
    )
    await office.operator_keys.create(order, actor=by.name)
    return MadeOperatorKey(name=wish.name, key=key, expires_at=expires_at)


@act("POST", "/operator-keys/{name}/revoke", Scope.EVERYTHING)
async def revoke_operator_key(office: Office, wish: OperatorKeyName, by: Actor) -> Changed:
    """Refuse an operator key from now on."""
    return Changed(await office.operator_keys.revoke(wish.name, checked_reason(wish.reason), actor=by.name))


@act("GET", "/operator-key", Scope.READ)
async def show_own_operator_key(office: Office, wish: NoWish, by: Actor) -> OperatorKeyView:
    """The operator key that this request came with: its scopes, and until when it works."""
    for record in await office.operator_keys.listed():
        if record.actor == by.name and record.revoked_at is None:
            return view_of(record)
    raise NotOnFile(f"{by.name} acts without an operator key.")


def view_of(record: OperatorKeyRecord) -> OperatorKeyView:
    networks = record.only_networks
    return OperatorKeyView(
        name=record.name,
        hint=record.hint,
        scopes=sorted(record.scopes),
        only_networks=None if networks is None else [str(network) for network in networks],
        created_at=record.created_at,
        created_by=record.created_by,
        expires_at=record.expires_at,
        revoked_at=record.revoked_at,
        last_used_at=record.last_used_at,
        account=record.account_id,
    )


ACTS = (list_operator_keys, create_operator_key, revoke_operator_key, show_own_operator_key)
