"""Lists of the office in pages: one page for people who look, every page for lists that are short."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
import typer

from tollkeeper.cli.acting import perform
from tollkeeper.cli.speak import say
from tollkeeper.office.act import Act
from tollkeeper.office.lists import ROWS_MOST, Listed, Paging

PageWish = TypeVar("PageWish", bound=Paging)
PagedRow = TypeVar("PagedRow")

# Of a list that may be long, a terminal shows so many at the most.
LISTED_MOST = 1_000

PageLimit = Annotated[int, typer.Option(min=1, max=ROWS_MOST, help="How many.")]
After = Annotated[str, typer.Option(help="Go on behind the last page, with what it said.")]


async def every_page(
    act: Act[PageWish, Listed[PagedRow]], wish: PageWish, most: int | None = None
) -> Sequence[PagedRow]:
    """All rows of a list, or the first `most`."""
    rows: list[PagedRow] = []
    wish = msgspec.structs.replace(wish, limit=ROWS_MOST)
    while True:
        page = await perform(act, wish)
        rows += page.data
        if page.next is None or (most is not None and len(rows) >= most):
            return rows if most is None else rows[:most]
        wish = msgspec.structs.replace(wish, after=page.next)


def say_more(following: str | None, *, as_json: bool) -> None:
    if following is not None and not as_json:
        say(f"There are more: --after {following}")
