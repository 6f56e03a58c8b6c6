"""Turns: how much of one account is done at the same time.

Rules of this file
1. An account has two turns at once, each with one connection to the database at most; what else it asks for waits. So
   whoever asks for much waits for themselves, and nobody else does.
2. More than a few that wait are sent away, but an export waits for as long as it must.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 2
WAITING_MOST = 20


class TooManyAtOnce(Exception):
    """This account has as many pages waiting as it may."""


class _PageGate:
    def __init__(self) -> None:
        self.places = asyncio.Semaphore(AT_ONCE)
        self.inside = 0


class Turns:
    def __init__(self) -> None:
        self._gates: dict[int, _PageGate] = {}

    @asynccontextmanager
    async def of(self, account_id: int, *, waiting_most: int | None = WAITING_MOST) -> AsyncIterator[None]:
        """Raise TooManyAtOnce where so many wait already; None: as many as come."""
        gate = self._gates.setdefault(account_id, _PageGate())
        if waiting_most is not None and gate.inside >= AT_ONCE + waiting_most:
            raise TooManyAtOnce
        gate.inside += 1
        try:
            async with gate.places:
                yield
        finally:
            gate.inside -= 1
            if not gate.inside:
                del self._gates[account_id]
