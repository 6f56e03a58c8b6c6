"""A bystander: another customer of the same node, who calls many times a second and expects its words."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tollkeeper.demo.speech import text_of
from tools.proofs.attack_rig.caller import call, request
from tools.proofs.attack_rig.moments import Leaving
from tools.proofs.fault_rig.ground import Customer

EVERY_SECONDS = 0.05
TOKENS = 12


class Bystander:
    def __init__(self, port: int, customer: Customer, model: str) -> None:
        self._port = port
        messages = [{"role": "user", "content": f"Say something. [[tokens={TOKENS}]]"}]
        orders = ({"model": model, "messages": messages, "stream": stream} for stream in (False, True))
        self._orders = [request(customer.key, json.dumps(order).encode()) for order in orders]
        self.calls = 0
        self.failed: Counter[str] = Counter()

    @asynccontextmanager
    async def present(self, during: str) -> AsyncIterator[None]:
        """Calls as long as the block lasts."""
        calling = asyncio.create_task(self._go_on(during))
        try:
            yield
        finally:
            calling.cancel()
            with suppress(asyncio.CancelledError):
                await calling

    async def _go_on(self, during: str) -> None:
        """One call after the other: on a busy machine they come less often, not all at once."""
        while True:
            await asyncio.gather(self._call(during), asyncio.sleep(EVERY_SECONDS))

    async def _call(self, during: str) -> None:
        streamed = self.calls % 2
        heard = await asyncio.shield(call(self._port, self._orders[streamed], Leaving()))
        self.calls += 1
        if heard.status != 200 or heard.words != len(text_of(TOKENS).split()) or heard.hung:
            self.failed[f"{during}: {heard.status}, {heard.words} words {heard.problem}"] += 1
