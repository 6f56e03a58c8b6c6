"""Stalls: for how long this machine let nobody here run. Who shares it with too many cannot be answered in time."""

import asyncio
import time

TICK_SECONDS = 0.02


class Stalls:
    def __init__(self) -> None:
        self._late_ms: list[float] = []

    async def watch(self) -> None:
        """Look at the clock every tick, until cancelled."""
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            self._late_ms.append((time.perf_counter() - begun - TICK_SECONDS) * 1_000)

    def __str__(self) -> str:
        late_ms = sorted(self._late_ms) or [0.0]
        p99_ms = late_ms[int(len(late_ms) * 0.99)]
        return f"the machine held this process up for {p99_ms:.0f} ms at p99, {late_ms[-1]:.0f} ms at most"
