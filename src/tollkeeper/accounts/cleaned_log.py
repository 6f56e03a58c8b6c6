"""A customer's calls that were cleaned out of the usage log, read from the copy at the log site.

Rules of this file
1. Only pieces of files that can have the customer's calls are read, and of those only their calls are kept.
2. A page reads a bounded number of pieces. It may come back short, and then says from where to go on.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from uuid import UUID

import msgspec

from tollkeeper.core.usage.log import BEHIND_ALL_IDS, UsageLine, UsagePage, day_ids
from tollkeeper.core.usage.log_copy import CopiedDay, CopiedPart, Manifest, lines_of, parts_back_from
from tollkeeper.ports.usage import LogSite

READS_MOST = 20


class CustomersCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The copy of the last cleanup, as one customer may read it."""

    site: LogSite
    manifest: Manifest
    account_id: int
    key_names: Mapping[int, str]

    async def page(self, *, after: UUID | None, limit: int) -> UsagePage:
        """The calls older than `after`, newest first."""
        before, lines, reads = after or BEHIND_ALL_IDS, list[UsageLine](), 0
        for day in reversed(self.manifest.days):
            if before <= day_ids(day.day)[0]:
                continue
            for part in parts_back_from(day, self.account_id, before):
                lines.extend(await self._read(day, part, before))
                reads += 1
                if len(lines) > limit:
                    return UsagePage(lines[:limit], lines[limit - 1].request_id)
                if reads == READS_MOST:
                    # On from this part, or from the day before.
                    begins_here = part.account_id == self.account_id
                    return UsagePage(lines, part.request_id if begins_here else day_ids(day.day)[0])
        return UsagePage(lines, None)

    async def pages(self, limit: int) -> AsyncIterator[UsagePage]:
        """Page after page, until there is nothing more."""
        after: UUID | None = None
        while True:
            page = await self.page(after=after, limit=limit)
            yield page
            if page.next is None:
                return
            after = page.next

    async def _read(self, day: CopiedDay, part: CopiedPart, before: UUID) -> list[UsageLine]:
        packed = await self.site.read(
            self.manifest.copy, day.file, offset_bytes=part.offset_bytes, size_bytes=part.size_bytes
        )
        return await asyncio.to_thread(self._unpack, packed, before)

    def _unpack(self, packed: bytes, before: UUID) -> list[UsageLine]:
        own, text = f",{self.account_id},", gzip.decompress(packed).decode()
        # Most parts have only rows of other customers: look for the account's id before reading them as CSV.
        rows = (row for row in text.splitlines() if own in row) if own in text else ()
        lines = [line for line in lines_of(rows, self.key_names) if line.account_id == self.account_id]
        return [line for line in reversed(lines) if line.request_id < before]
