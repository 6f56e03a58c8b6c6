"""Storms: one customer tries to harm others by failing calls, bodies without end, and bodies of many megabytes."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Sequence
from contextlib import suppress

import msgspec

from tools.proofs import say
from tools.proofs.attack_rig.bystander import Bystander
from tools.proofs.attack_rig.caller import Heard, call, request
from tools.proofs.attack_rig.ground import POISONED, Ground, model_of
from tools.proofs.attack_rig.moments import Leaving
from tools.proofs.fault_rig.caller import hang_up
from tools.proofs.fault_rig.ground import Customer
from tools.proofs.media_rig.storm import memory_bytes

POISONS = (
    *(f"status={status}" for status in (500, 502, 503, 429, 403, 401, 409, 451)),
    *('status=429 status_text="Request too large" retry_after=60', "status=503 retry_after=600"),
    *("redirect=http://127.0.0.1:9/ status=302", "cut_at=0", "cut_at=3 tokens=20", "half_close_at=0", "no_finish=true"),
    *("json_garbage=true", "error_at=0", "malformed_at=0"),
)
POISON_AT_ONCE = 8
STARVERS = 16
STARVED_SECONDS = 4.0
DECLARED_BYTES = 30 * 1024 * 1024
LARGE_BYTES = 25 * 1024 * 1024
LARGE_AT_ONCE = 3
BODY_BYTES = 20 * 1024 * 1024
BODIES_AT_ONCE = 3
GROWTH_BYTES_MOST = 60 * 1024 * 1024
SETTLED_WITHIN_SECONDS = 30.0
# Failures of calls with large bodies, by what the provider does and when the caller leaves.
FAILURES: Sequence[tuple[str, Leaving]] = (
    ("status=500", Leaving()),
    ("answer_mb=65", Leaving()),
    ("cut_at=0", Leaving()),
    ("delay_ms=400", Leaving(after_seconds=0.3, by_reset=True)),
)


class Sizes(msgspec.Struct, frozen=True):
    poisons: int
    large: int
    failed_bodies: int


class Storms:
    def __init__(self, ground: Ground, attackers: Sequence[Customer], bystander: Bystander) -> None:
        """`attackers`: keys of one account."""
        self._ground = ground
        self._attackers = attackers
        self._bystander = bystander
        self.calls = 0
        self.growth_bytes = 0
        self.server_errors: Counter[str] = Counter()

    async def rage(self, sizes: Sizes, chance: random.Random) -> None:
        async with self._bystander.present("while calls of another customer fail"):
            await self._poison(sizes.poisons, chance)
        async with self._bystander.present("while bodies of another customer do not end"):
            await self._starve()
        async with self._bystander.present("while another customer sends large bodies"):
            await self._large(sizes.large)
        async with self._bystander.present("while calls with large bodies fail"):
            await self._fail_with_bodies(sizes.failed_bodies)

    async def _poison(self, count: int, chance: random.Random) -> None:
        say(f"{count} calls of one customer that fail at the provider")
        orders = [self._order(f"Say. [[{chance.choice(POISONS)}]]", POISONED, number) for number in range(count)]
        await self._all([call(self._port, order, Leaving()) for order in orders], POISON_AT_ONCE)

    async def _starve(self) -> None:
        """Bodies that are begun and never end."""
        say(f"{STARVERS} bodies of {DECLARED_BYTES >> 20} MB that stop in the middle")
        await asyncio.gather(*(self._one_starver(number) for number in range(STARVERS)))

    async def _one_starver(self, number: int) -> None:
        self.calls += 1
        _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        with suppress(OSError):
            head = request(self._key(number), b"").replace(b"Content-Length: 0", b"Content-Length: %d" % DECLARED_BYTES)
            writer.write(head + b'{"model":"' + b"x" * (DECLARED_BYTES // 3))
            await asyncio.sleep(STARVED_SECONDS)
        hang_up(writer, by_reset=True)

    async def _large(self, count: int) -> None:
        say(f"{count} JSON bodies of {LARGE_BYTES >> 20} MB")
        model = model_of("openai", of_thinker=False)
        shapes: Sequence[object] = (
            [{"role": "user", "content": "word " * (LARGE_BYTES // 5)}],
            [{"role": "user", "content": "a"}] * (LARGE_BYTES // 34),
            [{"role": "user", "content": "\\" * (LARGE_BYTES // 2)}],
        )
        bodies = [json.dumps({"model": model, "messages": messages}).encode() for messages in shapes]
        sent = [request(self._key(at), bodies[at % len(bodies)]) for at in range(count)]
        await self._all([call(self._port, order, Leaving()) for order in sent], LARGE_AT_ONCE)

    async def _fail_with_bodies(self, count: int) -> None:
        say(f"{count} failing calls with bodies of {BODY_BYTES >> 20} MB")
        await self._fail(len(FAILURES))
        before = memory_bytes(self._ground.node)
        await self._fail(count)
        self.growth_bytes = await self._growth(before)
        say(f"memory {before >> 20} MB before, {self.growth_bytes / 2**20:+.1f} MB after")

    async def _fail(self, count: int) -> None:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * BODY_BYTES}}

        async def one(number: int) -> Heard:
            directions, leaving = FAILURES[number % len(FAILURES)]
            content = [{"type": "text", "text": f"See. [[{directions}]]"}, picture]
            return await call(self._port, self._order(content, POISONED, number), leaving)

        await self._all([one(number) for number in range(count)], BODIES_AT_ONCE)

    async def _growth(self, before: int) -> int:
        give_up_at = asyncio.get_running_loop().time() + SETTLED_WITHIN_SECONDS
        while (growth := memory_bytes(self._ground.node) - before) > GROWTH_BYTES_MOST:
            if asyncio.get_running_loop().time() > give_up_at:
                break
            await asyncio.sleep(1)
        return growth

    async def _all(self, calls: Sequence[Awaitable[Heard]], at_once: int) -> None:
        free = asyncio.Semaphore(at_once)

        async def one(made: Awaitable[Heard]) -> Heard:
            async with free:
                return await made

        heard = await asyncio.gather(*map(one, calls))
        self.calls += len(heard)
        say(f"answered {dict(sorted(Counter(answer.status for answer in heard).items()))}")
        # A provider's failure is told as 502, 503 or 504; 500 would be our own.
        self.server_errors.update(answer.problem for answer in heard if answer.status == 500 or answer.hung)

    def _order(self, content: object, model: str, number: int) -> bytes:
        body = {"model": model, "messages": [{"role": "user", "content": content}], "stream": bool(number % 2)}
        return request(self._key(number), json.dumps(body).encode())

    def _key(self, number: int) -> str:
        return self._attackers[number % len(self._attackers)].key

    @property
    def _port(self) -> int:
        return self._ground.node.port
