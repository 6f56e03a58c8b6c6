"""Storms: one customer tries to harm others by failing calls, by bodies and heads that do not end, are large,
or have no form."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Sequence
from contextlib import suppress

import msgspec

from proofs.attacks.bystander import Bystander
from proofs.attacks.raw_call import Heard, call
from proofs.attacks.rude_requests import rude_requests
from proofs.attacks.target import POISONED, Target, model_of
from proofs.rig.customers import Customer
from proofs.rig.measuring.processes import memory_bytes
from proofs.rig.patience import patience
from proofs.rig.proof import say
from proofs.rig.raw_calls import Leaving, chat_request, connect, hang_up

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
RUDE_AT_ONCE = 8
# Of two requests told as one, the server may wait for the rest of either.
RUDE = Leaving(after_seconds=5.0)
SLOW_HEADS = 100
SLOW_HEAD_BYTES = 40
WHILE_LARGE = "while another customer sends large bodies"
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
    def __init__(self, target: Target, attackers: Sequence[Customer], bystander: Bystander) -> None:
        """`attackers`: keys of one account."""
        self._target = target
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
        # Made before the bystander is there, who would wait for it in this process.
        large = self._large_bodies(sizes.large)
        async with self._bystander.present(WHILE_LARGE):
            await self._all([call(self._port, order, Leaving()) for order in large], LARGE_AT_ONCE)
        async with self._bystander.present("while calls with large bodies fail"):
            await self._fail_with_bodies(sizes.failed_bodies)
        for name, requests in rude_requests([customer.key for customer in self._attackers]).items():
            async with self._bystander.present(f"while somebody sends {name}"):
                say(f"{len(requests)} {name}")
                await self._all([call(self._port, sent, RUDE) for sent in requests], RUDE_AT_ONCE)
        async with self._bystander.present("while heads of another caller do not end"):
            say(f"{SLOW_HEADS} heads that come byte by byte")
            await asyncio.gather(*(self._one_slow_head(number) for number in range(SLOW_HEADS)))

    @property
    def felt_seconds(self) -> float:
        """The bystander's slowest call while large bodies came: what a busy loop costs everybody else."""
        return self._bystander.worst_seconds.get(WHILE_LARGE, 0.0)

    async def _one_slow_head(self, number: int) -> None:
        self.calls += 1
        _, writer = await connect(self._port)
        head = chat_request(self._key(number), b"{}")
        with suppress(OSError):
            for at in range(SLOW_HEAD_BYTES):
                writer.write(head[at : at + 1])
                await asyncio.sleep(STARVED_SECONDS / SLOW_HEAD_BYTES)
        hang_up(writer, by_reset=True)

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
        _, writer = await connect(self._port)
        with suppress(OSError):
            empty = chat_request(self._key(number), b"")
            head = empty.replace(b"Content-Length: 0", b"Content-Length: %d" % DECLARED_BYTES)
            writer.write(head + b'{"model":"' + b"x" * (DECLARED_BYTES // 3))
            await asyncio.sleep(STARVED_SECONDS)
        hang_up(writer, by_reset=True)

    def _large_bodies(self, count: int) -> list[bytes]:
        say(f"{count} JSON bodies of {LARGE_BYTES >> 20} MB")
        model = model_of("openai", of_thinker=False)
        shapes: Sequence[object] = (
            [{"role": "user", "content": "word " * (LARGE_BYTES // 5)}],
            [{"role": "user", "content": "a"}] * (LARGE_BYTES // 34),
            [{"role": "user", "content": "\\" * (LARGE_BYTES // 2)}],
        )
        bodies = [json.dumps({"model": model, "messages": messages}).encode() for messages in shapes]
        return [chat_request(self._key(at), bodies[at % len(bodies)]) for at in range(count)]

    async def _fail_with_bodies(self, count: int) -> None:
        say(f"{count} failing calls with bodies of {BODY_BYTES >> 20} MB")
        await self._fail(len(FAILURES))
        before = memory_bytes(self._target.node)
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
        give_up_at = asyncio.get_running_loop().time() + patience(SETTLED_WITHIN_SECONDS)
        while (growth := memory_bytes(self._target.node) - before) > GROWTH_BYTES_MOST:
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
        return chat_request(self._key(number), json.dumps(body).encode())

    def _key(self, number: int) -> str:
        return self._attackers[number % len(self._attackers)].key

    @property
    def _port(self) -> int:
        return self._target.node.port
