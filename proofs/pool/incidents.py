"""Incidents: a refused key, a stall, news between nodes, and no Redis. Each at an account that is asked first."""

import asyncio
import time
from collections.abc import Sequence

from proofs.pool.attempts import receipts_of, simulator_of
from proofs.pool.steady_callers import Placed, place
from proofs.pool.two_nodes import ODD, TwoNodes
from proofs.rig.checks import Check
from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.patience import patience
from proofs.rig.proof import say
from tools.node import tollkeeper

REFUSED = f"{ODD}-refused"
STALLED = f"{ODD}-stalled"
ALONE = f"{ODD}-alone"
# After how many seconds the other node is asked, each at an account of its own.
NEWS_AFTER_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0)
NEWS = tuple(f"{ODD}-news{number}" for number in range(len(NEWS_AFTER_SECONDS)))
OWN_MODELS = (REFUSED, STALLED, ALONE, *NEWS)

# Each begins no answer within the two seconds that it has.
STALLS = ("delay_ms=6000", "stall_at=0", "first_chunk_ms=6000")
BUSY = "Hello. [[tokens=4]] [[only=odd status=429 retry_after=60]]"
FAILING = "Hello. [[tokens=4]] [[only=odd status=503]]"
HELLO = "Hello. [[tokens=4]]"
CALLS = 12
# Several failures take an account out; nobody needs more of them than this to learn it.
LEARNED_AFTER_MOST = 6
TAKES_EFFECT_SECONDS = 2.0
# An account goes out for everybody when the calls of two customers fail.
TWO = (2, 3)
WAIT_SECONDS_MOST = 15.0


class Incidents:
    def __init__(self, site: TwoNodes) -> None:
        self.placed: list[Placed] = []
        self.checks: list[Check] = []
        self._site = site

    async def happen(self) -> None:
        await self._a_key_is_refused()
        await self._an_answer_stalls()
        await self._one_node_tells_the_other()
        await self._redis_is_away()
        self._check("every caller in every incident was answered well", all(one.went_well for one in self.placed))

    async def _a_key_is_refused(self) -> None:
        say("an account's key is refused")
        await asyncio.to_thread(self._restart_odd, "sk-another")
        since = self._tries()
        calls = [await self._ask(number % 2, HELLO, REFUSED) for number in range(CALLS)]
        calls += await asyncio.gather(*(self._ask(number % 2, HELLO, REFUSED) for number in range(CALLS)))
        asked = await self._asked_odd(calls)
        by_node = [
            sum(asked_odd for one, asked_odd in zip(calls, asked, strict=True) if one.node == node) for node in (0, 1)
        ]
        arrived = self._tries() - since
        self._check("a refused key gets one call from a node at most", max(by_node) == 1, f"{by_node} by node")
        self._check("each call to a refused key arrived once", arrived == sum(by_node), f"{arrived} arrived")
        await asyncio.to_thread(self._restart_odd, PROVIDER_KEY)
        calls = [await self._ask(number % 2, HELLO, REFUSED) for number in range(CALLS)]
        self._check("a suspended account gets no call until it is tested", not any(await self._asked_odd(calls)))
        tested = await asyncio.to_thread(tollkeeper, self._site.settings, "provider", "test", REFUSED)
        self._check("`provider test` finds it well", tested.returncode == 0, tested.stdout + tested.stderr)
        for node in (0, 1):
            seconds = await self._seconds_until_used(node, REFUSED)
            detail = f"node {node} after {seconds} s"
            self._check("a tested account is used again", seconds is not None, detail)
            self._check("and soon", (seconds or 0) <= TAKES_EFFECT_SECONDS, detail, timed=True)

    async def _an_answer_stalls(self) -> None:
        say("an answer does not begin")
        for stall in STALLS:
            begun = time.monotonic()
            text = f"Hello. [[tokens=4]] [[only={ODD} {stall}]]"
            one = await self._ask(0, text, STALLED, stream=True)
            taken = time.monotonic() - begun
            [accounts] = await self._accounts(one)
            self._check(
                f"a stall ({stall}) fails over unseen",
                one.went_well
                and [account == ODD for account in accounts] == [True, False]
                and not one.heard.answer.kept_alive,
                f"after {taken:.1f} s: {one.heard.answer}, {accounts}",
            )

    async def _one_node_tells_the_other(self) -> None:
        say("one node learns that an account is out")
        avoided = {}
        for account, seconds in zip(NEWS, NEWS_AFTER_SECONDS, strict=True):
            first = [await self._ask(0, BUSY, account, by=by) for by in TWO]
            await asyncio.sleep(seconds)
            others = [await self._ask(1, BUSY, account) for _ in range(3)]
            self._check("the account that is asked first was asked", all(await self._asked_odd(first)))
            asked = await self._asked_odd(others)
            avoided[seconds] = not any(asked)
        self._check("the other node avoids it within 2 s", avoided[max(avoided)], str(avoided))
        say(f"the other node avoids it after so many seconds: {avoided}")

    async def _redis_is_away(self) -> None:
        say("Redis is away")
        await asyncio.to_thread(self._site.redis.stop)
        for node in (0, 1):
            calls = [await self._ask(node, FAILING, ALONE, by=TWO[number % 2]) for number in range(CALLS)]
            asked = await self._asked_odd(calls)
            learned = 1 <= sum(asked) <= LEARNED_AFTER_MOST and not any(asked[LEARNED_AFTER_MOST:])
            self._check("without Redis each node learns for itself", learned, f"node {node}: {asked}")
        await asyncio.to_thread(self._site.redis.start)

    async def _ask(self, node: int, text: str, model: str, *, stream: bool = False, by: int | None = None) -> Placed:
        # One customer for each node, unless it matters who asks.
        customer = self._site.customers[node if by is None else by]
        one = await place(self._site.nodes, node, customer, text, stream=stream, model=model)
        self.placed.append(one)
        return one

    async def _seconds_until_used(self, node: int, model: str) -> float | None:
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < patience(WAIT_SECONDS_MOST):
            if any(await self._asked_odd([await self._ask(node, HELLO, model)])):
                return round(passed, 2)
            await asyncio.sleep(0.05)
        return None

    async def _asked_odd(self, calls: Sequence[Placed]) -> list[bool]:
        return [ODD in accounts for accounts in await self._accounts(*calls)]

    async def _accounts(self, *calls: Placed) -> list[list[str]]:
        """At which simulators each call was tried, by its receipt."""
        receipts = await receipts_of(self._site.settings, calls)
        known = [receipts.get(one.request_id) for one in calls]
        # A call without a receipt is found when the books are judged.
        return [[simulator_of(attempt.account) for attempt in receipt.attempts] if receipt else [] for receipt in known]

    def _tries(self) -> int:
        return len(self._site.odd.truth())

    def _restart_odd(self, key: str) -> None:
        self._site.odd.stop()
        self._site.odd.options["key"] = key
        self._site.odd.start()

    def _check(self, name: str, holds: bool, detail: str = "", *, timed: bool = False) -> None:
        self.checks.append(Check(name, holds, detail, timed))
