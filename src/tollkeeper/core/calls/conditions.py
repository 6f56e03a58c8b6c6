"""Conditions: what a caller's headers say of a call as a whole: that it is paid for once, and at most what it may cost.

Rules of this file
1. Whoever sets a condition relies on it: one that cannot be read is refused, and never left out of account.
2. An amount is a plain decimal number of USD, read exactly.
"""

import re
from collections.abc import Callable
from decimal import Decimal

import msgspec

from tollkeeper.core.errors import InvalidHeader
from tollkeeper.core.money.amounts import NotAnAmount, Quota, quota_from_usd

IDEMPOTENCY_KEY = b"idempotency-key"
MAX_CHARGE = b"x-max-charge-usd"
# Of the SDKs of several vendors: how often they have sent this very call before.
RETRY_COUNT = b"x-stainless-retry-count"
KEY_CHARACTERS_MOST = 255

_KEY = re.compile(rf"[\x20-\x7e]{{1,{KEY_CHARACTERS_MOST}}}")
_USD = re.compile(r"[0-9]{1,9}(\.[0-9]{1,12})?")
_RETRIED = re.compile(r"0*[1-9][0-9]{0,8}")


class Conditions(msgspec.Struct, frozen=True):
    idempotency_key: str | None = None
    max_charge: Quota | None = None
    # Whether an SDK says that it sends the call again.
    is_retry: bool = False


NONE = Conditions()


def read_conditions(header: Callable[[bytes], str | None]) -> Conditions:
    """Raise InvalidHeader where a condition cannot be read."""
    key, most, retried = header(IDEMPOTENCY_KEY), header(MAX_CHARGE), header(RETRY_COUNT)
    if key is None and most is None and retried is None:
        return NONE
    if key is not None and not _KEY.fullmatch(key):
        raise InvalidHeader("Idempotency-Key", f"must have 1 to {KEY_CHARACTERS_MOST} characters of plain ASCII")
    is_retry = retried is not None and _RETRIED.fullmatch(retried) is not None
    return Conditions(key, None if most is None else _amount(most), is_retry)


def _amount(text: str) -> Quota:
    try:
        if _USD.fullmatch(text):
            return quota_from_usd(Decimal(text))
    except NotAnAmount:
        pass
    raise InvalidHeader("x-max-charge-usd", "must be a plain amount of USD above 0, such as 0.05")
