"""Lists, a page at a time (keyset paging): a page says where the next one begins, so that nothing is told twice or left
out while rows come and go."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

import msgspec

from tollkeeper.office.wishes import ROW_MOST

ROWS_USUAL = 50
ROWS_MOST = 500

PageRow = TypeVar("PageRow")
Key = TypeVar("Key")


class BadCursor(ValueError):
    """A value of `after` that no page gave."""

    def __init__(self) -> None:
        super().__init__("The value of 'after' is not one that a page gave as 'next'. Begin without it.")


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of a list."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=ROWS_MOST, description="Rows of a page.")] = ROWS_USUAL
    after: Annotated[str, msgspec.Meta(max_length=500, description="`next` of the page before.")] = ""

    def after_key(self, kind: type[Key]) -> Key | None:
        """Where the page begins; None: at the beginning. Raise BadCursor."""
        if not self.after:
            return None
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(self.after.encode()), type=kind)
        except (msgspec.MsgspecError, binascii.Error, ValueError):
            raise BadCursor from None

    def after_row(self) -> int | None:
        """The same, where rows have numbers. Raise BadCursor."""
        number = self.after_key(int)
        if number is not None and not 0 <= number <= ROW_MOST:
            raise BadCursor
        return number

    def after_name(self) -> str | None:
        """The same, where rows have names. Raise BadCursor."""
        name = self.after_key(str)
        if name is not None and not name.isprintable():
            raise BadCursor
        return name


class Listed(msgspec.Struct, Generic[PageRow], frozen=True):
    """A page of a list. `next`: what to send as `after` for the next one; None: this is the last."""

    data: Sequence[PageRow]
    next: str | None = None


def listed(rows: Sequence[PageRow], limit: int, key: Callable[[PageRow], object]) -> Listed[PageRow]:
    """A page of rows, of which one more was asked for than the page has. `key`: what a row is sorted by."""
    page = rows[:limit]
    more = len(rows) > limit
    return Listed(page, base64.urlsafe_b64encode(msgspec.json.encode(key(page[-1]))).decode() if more else None)
