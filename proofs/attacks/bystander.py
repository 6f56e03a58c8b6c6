"""A bystander: another customer of the same node, who calls many times a second and expects its words."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proofs.attacks.raw_call import call
from proofs.rig.customers import Customer
from proofs.rig.raw_calls import Leaving, chat_request
from tollkeeper_simulator.speech import text_of

EVERY_SECONDS = 0.05
TOKENS = 12


class Bystander:
    def __init__(self, port: int, customer: Customer, model: str) -> None:
        self._port = port
        messages = [{"role": "user", "content": f"Say something. [[tokens={TOKENS}]]"}]
        orders = ({"model": model, "messages": messages, "stream": stream} for stream in (False, True))
        self._orders = [chat_request(customer.key, json.dumps(order).encode()) for order in orders]
        self.calls = 0
        self.failed: Counter[str] = Counter()
        # The slowest call of each time.
        self.worst_seconds: dict[str, float] = {}

    @asynccontextmanager
    async def present(self, during: str) -> AsyncIterator[None]:
        """Calls as long as the block lasts, once at least; the last call is heard to its end."""
        over = asyncio.Event()
        calling = asyncio.create_task(self._go_on(during, over))
        try:
            yield
        finally:
            over.set()
            await calling

    async def _go_on(self, during: str, over: asyncio.Event) -> None:
        """One call after the other: on a busy machine they come less often, not all at once."""
        while True:
            await asyncio.gather(self._call(during), asyncio.sleep(EVERY_SECONDS))
            if over.is_set():
                return

    async def _call(self, during: str) -> None:
        streamed = self.calls % 2
        heard = await call(self._port, self._orders[streamed], Leaving())
        self.calls += 1
        self.worst_seconds[during] = max(self.worst_seconds.get(during, 0.0), heard.seconds)
        if heard.status != 200 or heard.words != len(text_of(TOKENS).split()) or heard.hung:
            self.failed[f"{during}: {heard.status}, {heard.words} words {heard.problem}"] += 1
