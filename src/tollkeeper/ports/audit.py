"""The audit trail as staff read it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One act on the record."""

    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    detail: Mapping[str, Any]
    # SHA-256 over this row and the hash of the row before: a row that was changed afterwards breaks the chain.
    hash: str


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows; an empty text leaves a question open."""

    actor: str = ""
    # An action, or the beginning of some: "account." has them all.
    action: str = ""
    subject: str = ""


class AuditTrail(Protocol):
    async def page(self, query: AuditQuery, *, before_id: int | None, limit: int) -> Sequence[AuditRow]:
        """The newest first."""
        ...

    async def first_break(self) -> int | None:
        """The first row whose hash does not follow from the one before; None: the chain is whole."""
        ...
