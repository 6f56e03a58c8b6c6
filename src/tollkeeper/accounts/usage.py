"""The usage log, read over several pages."""

from collections.abc import AsyncIterator
from uuid import UUID

from tollkeeper.core.usage.log import UsageFilter, UsageLine, UsagePage
from tollkeeper.ports.usage import UsageLog


async def pages(usage: UsageLog, wanted: UsageFilter, limit: int) -> AsyncIterator[UsagePage]:
    """Page after page, until there is nothing more."""
    after: UUID | None = None
    while True:
        page = await usage.page(wanted, after=after, limit=limit)
        yield page
        if page.next is None:
            return
        after = page.next


async def filled_page(
    usage: UsageLog, wanted: UsageFilter, after: UUID | None, limit: int, *, reads_most: int | None = None
) -> UsagePage:
    """A page of as many calls as were asked for, if there are so many: short pages of the log are continued, with at
    most `reads_most` reads."""
    lines: list[UsageLine] = []
    reads = 0
    while True:
        page = await usage.page(wanted, after=after, limit=limit - len(lines))
        lines += page.lines
        after, reads = page.next, reads + 1
        if after is None or len(lines) >= limit or reads == reads_most:
            return UsagePage(lines, after)
