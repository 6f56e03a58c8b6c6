"""Refusals of the operator API, all in one form: {"error": {"code", "message", "request_id"}}."""

from collections.abc import Mapping

from tollkeeper.console.turns import TooManyAtOnce
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.people.logins import RoleMissing
from tollkeeper.core.people.operator_keys import OperatorKeyRefusal
from tollkeeper.office.lists import BadCursor
from tollkeeper.ports import AlreadyOnFile, NotOnFile


class BadWish(ValueError):
    """A request that cannot be read; the message says what is wrong with it."""


class TooLarge(ValueError):
    """A body that is larger than any request needs."""

    def __init__(self) -> None:
        super().__init__("The body is too large. Nothing was done.")


class IdempotencyKeyMissing(ValueError):
    """A request that moves money, without the key under which it is done once."""

    def __init__(self) -> None:
        super().__init__(
            "This moves money: send an Idempotency-Key of 1 to 255 printable characters, a new one for every new "
            "request, and the same one when you repeat it. Nothing was done."
        )


class RequestKeyReused(ValueError):
    """An idempotency key that came with another request before."""

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key came with another request before. Use a new one. Nothing was done.")


class StillUnderWay(ValueError):
    """A request that somebody else is just doing, under the same idempotency key."""

    def __init__(self) -> None:
        super().__init__("The same request is under way. Send it again in a moment, with the same Idempotency-Key.")


# The first that fits. Whatever else is a ValueError was refused by the act itself, in its own words.
KINDS: Mapping[type[Exception], tuple[int, str]] = {
    BadWish: (400, "bad_request"),
    BadCursor: (400, "bad_request"),
    IdempotencyKeyMissing: (400, "idempotency_key_missing"),
    RoleMissing: (403, "scope_missing"),
    NotOnFile: (404, "not_found"),
    AlreadyOnFile: (409, "already_there"),
    StillUnderWay: (409, "still_under_way"),
    TooLarge: (413, "too_large"),
    RequestKeyReused: (422, "idempotency_key_reused"),
    TooManyAtOnce: (429, "too_many_at_once"),
    StoreUnavailable: (503, "store_unavailable"),
    ValueError: (422, "refused"),
}
WORDS: Mapping[type[Exception], str] = {
    TooManyAtOnce: "Too many requests of this operator key wait already. Send fewer at once. Nothing was done.",
    StoreUnavailable: "The database is out of reach. If this was to change something, look before you repeat it; "
    "with an Idempotency-Key, just repeat it.",
}
STATUSES = sorted({401, 403, *(status for status, _ in KINDS.values())})


def judged(problem: Exception) -> tuple[int, str, str] | None:
    """Status, code and message; None: a fault of ours."""
    if isinstance(problem, OperatorKeyRefusal):
        return problem.status, problem.code, str(problem)
    for kind, (status, code) in KINDS.items():
        if isinstance(problem, kind):
            return status, code, WORDS.get(kind) or str(problem)
    return None
