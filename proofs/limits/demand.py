"""Demand: connections that press for as long as they are told, and what became of their calls."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from proofs.limits.line import Line, Reply, chat, get
from tools.node import Node

RATE_HEADERS = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests")
RETRY_AFTER = "retry-after"
EXAMPLES_MOST = 3

LOOKUPS: Sequence[Callable[[str], bytes]] = (
    lambda key: get("/v1/models", key),
    lambda key: get("/v2/token/balance", key),
)
CHATS: Sequence[Callable[[str], bytes]] = (chat,)
# Lookups for the most part.
MIXED: Sequence[Callable[[str], bytes]] = (*LOOKUPS, *LOOKUPS, chat)


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    keys: Sequence[str]
    connections: int
    # How long a connection waits after it was refused.
    pause_seconds: float
    calls: Sequence[Callable[[str], bytes]] = MIXED


class Heard:
    """What callers heard, as it comes."""

    def __init__(self) -> None:
        self.first_sent_at = 0.0
        self.last_sent_at = 0.0
        self.statuses: Counter[int] = Counter()
        # When each call was sent, and how many seconds it took.
        self.waits: list[tuple[float, float]] = []
        # Which limits they were told of: a smaller one than theirs is the share of a process that goes without Redis.
        self.limits: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.examples: list[str] = []

    def note(self, reply: Reply) -> None:
        self.first_sent_at = self.first_sent_at or reply.sent_at
        self.last_sent_at = max(self.last_sent_at, reply.sent_at)
        self.statuses[reply.status] += 1
        self.limits[reply.headers.get(RATE_HEADERS[0], "none")] += 1
        self.waits.append((reply.sent_at, reply.seconds))
        for problem in problems(reply):
            self._complain(problem, reply.body[:200].decode(errors="replace"))

    def note_failure(self, problem: Exception) -> None:
        self.statuses[0] += 1
        self._complain(f"no answer: {type(problem).__name__}", str(problem))

    def _complain(self, problem: str, example: str) -> None:
        self.wrong[problem] += 1
        if len(self.examples) < EXAMPLES_MOST:
            self.examples.append(f"{problem}: {example}")

    def longest_seconds(self, begun: float = 0.0, ended: float = float("inf")) -> tuple[float, float]:
        """p99 and maximum of the calls that were sent between these times."""
        taken = sorted(seconds for sent_at, seconds in self.waits if begun <= sent_at <= ended)
        return (taken[int(len(taken) * 0.99)], taken[-1]) if taken else (0.0, 0.0)


def problems(reply: Reply) -> list[str]:
    """What is wrong with an answer, of those that a caller within its rights may get."""
    if reply.status not in {200, 429}:
        return [f"status {reply.status} {reply.code}"]
    wanted = RATE_HEADERS if reply.status == 200 else (*RATE_HEADERS, RETRY_AFTER)
    missing = [f"{reply.status} without {name}" for name in wanted if name not in reply.headers]
    return missing or _disagreements(reply.status, reply.headers)


def _disagreements(status: int, headers: Mapping[str, str]) -> list[str]:
    limit, remaining, _ = (headers[name] for name in RATE_HEADERS)
    if not (limit.isdigit() and remaining.isdigit()):
        return ["rate headers that are no numbers"]
    if not 0 <= int(remaining) <= int(limit):
        return ["more remaining than the limit"]
    if status == 429 and not (headers[RETRY_AFTER].isdigit() and 1 <= int(headers[RETRY_AFTER]) <= 60):
        return [f"Retry-After: {headers[RETRY_AFTER]}"]
    return []


async def press(nodes: Sequence[Node], pressure: Pressure, seconds: float, heard: Heard) -> None:
    """Keep every connection calling; what is admitted is followed by the next call at once."""
    ends_at = time.monotonic() + seconds
    async with asyncio.TaskGroup() as callers:
        for number in range(pressure.connections):
            node = nodes[number % len(nodes)]
            key = pressure.keys[number // len(nodes) % len(pressure.keys)]
            asked = [call(key) for call in pressure.calls]
            # Not all with the same call at the same time.
            turns = itertools.islice(itertools.cycle(asked), number, None)
            late = number / pressure.connections * pressure.pause_seconds
            callers.create_task(_caller(node, turns, late, pressure.pause_seconds, ends_at, heard))


async def _caller(
    node: Node, asked: "itertools.islice[bytes]", late: float, pause: float, ends_at: float, heard: Heard
) -> None:
    await asyncio.sleep(late)
    line = None
    while time.monotonic() < ends_at:
        try:
            line = line or await Line.to(node.port)
            reply = await line.ask(next(asked))
            heard.note(reply)
        except (OSError, TimeoutError) as problem:
            heard.note_failure(problem)
            line, reply = None, None
        if reply is None or reply.status != 200:
            await asyncio.sleep(pause)
    if line is not None:
        line.close()


async def sit_out(begun: float, seconds: float) -> None:
    """Wait until so many seconds after `begun`, by the monotonic clock."""
    await asyncio.sleep(max(0.0, begun + seconds - time.monotonic()))


async def act(after_seconds: float, begun: float, deed: Callable[[], object]) -> float:
    """Do something that blocks, at its time; when it was done, in Unix seconds."""
    await sit_out(begun, after_seconds)
    await asyncio.to_thread(deed)
    return time.time()
