"""E-mails that change: what was asked for, and the link by which it happens."""

from enum import StrEnum
from typing import Protocol

import msgspec

from tollkeeper.ports.people import LoginRecord


class EmailChange(msgspec.Struct, frozen=True):
    """What stands behind a link: an account, and the e-mail that it is to have."""

    account_id: int
    email: str


class EmailChanged(StrEnum):
    CHANGED = "changed"
    # Another login has it by now.
    TAKEN = "taken"
    OVER = "over"


class EmailChanges(Protocol):
    async def request(self, login: LoginRecord, email: str) -> bool:
        """File it, have that e-mail written to, and the present one warned; what was asked for before is over. Whether
        it has a login is not looked at. Not where the password changed since the login was read."""
        ...

    async def look(self, token_digest: bytes) -> EmailChange | None:
        """What stands behind a link while it is valid; nothing changes."""
        ...

    async def redeem(self, token_digest: bytes, person: bytes, *, keep_session_id: int | None) -> EmailChanged:
        """Use a link up. The account's other sessions are over, and the e-mail that it had is told. `person`: the
        digest by which the reader of the new one is known again."""
        ...
