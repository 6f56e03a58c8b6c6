"""Accounts that do not speak a dialect, though their vendor does: found out by asking, and remembered for a while.

Many providers are compatible with a vendor's chat and with nothing else of it. No setting says so, and none is needed:
an account that has no such address says 404 before anything is made, and is asked in chat at once.
"""

import time

from tollkeeper.core.calls.loosely import NOT_READ, a_text, an_object, decode
from tollkeeper.core.calls.native import Dialect
from tollkeeper.ports import ProviderAccount

# What is answered where there is no such address.
NO_SUCH_ADDRESS = frozenset({404, 405, 501})
# A provider may learn it: so it is asked again after an hour.
REMEMBERED_SECONDS = 3_600.0


class UnspokenDialects:
    def __init__(self) -> None:
        self._until: dict[tuple[int, str, Dialect], float] = {}

    def note(self, account: ProviderAccount, dialect: Dialect) -> None:
        self._until[account.id, account.base_url, dialect] = time.monotonic() + REMEMBERED_SECONDS

    def has(self, account: ProviderAccount, dialect: Dialect) -> bool:
        if not self._until:
            return False
        return self._until.get((account.id, account.base_url, dialect), 0.0) > time.monotonic()


def is_about_the_address(status: int, body: bytes) -> bool:
    """Whether a refusal says that there is no such address, and not that there is no such model."""
    if status not in NO_SUCH_ADDRESS:
        return False
    try:
        problem = an_object(an_object(decode(body)).get("error"))
    except NOT_READ:
        return True
    return a_text(problem.get("code")) != "model_not_found" and a_text(problem.get("param")) != "model"
