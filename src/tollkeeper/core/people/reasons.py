"""Why the act that is under way is done, so that every row which it puts on record says so.

An act's rows are written by many desks and by functions of the database, which customers' own acts use as well. The
reason travels beside their arguments (a context variable), and is put into the row where all rows are made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_said: ContextVar[str] = ContextVar("reason of the act", default="")


@contextmanager
def because(reason: str) -> Iterator[None]:
    """While it lasts, rows that have no reason of their own have this one. Empty: as it was before."""
    token = _said.set(reason or _said.get())
    try:
        yield
    finally:
        _said.reset(token)


def reason_said() -> str:
    return _said.get()
