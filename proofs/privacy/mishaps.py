"""What goes wrong while calls are under way: each fault has calls before it, through it and after it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from proofs.privacy.canaries import Canaries
from proofs.privacy.chat_calls import PATH
from proofs.privacy.contained import ContainedDeployment
from proofs.privacy.media_calls import image_calls, speech_calls, upload_calls
from proofs.privacy.raw_http import Call, Heard, json_call, place
from proofs.rig.patience import wait_until
from proofs.rig.proof import say
from tools.node import children

CALLERS = 8
UNDER_WAY_SECONDS = 0.7
FROZEN_SECONDS = 3.0
# Who was refused comes again after a while.
REFUSED_SECONDS = 0.3
LATE = "[[echo=true delay_ms=1500]]"
SLOW = "[[echo=true chunk_ms=40]]"
# So that a stream takes some seconds, and is under way when something happens.
SAID_TIMES = 4


class Faults:
    """Faults, one after the other, on a deployment under load."""

    def __init__(self, site: ContainedDeployment, canaries: Canaries) -> None:
        self._site = site
        self._canaries = canaries
        self.heard: list[Heard] = []

    def happen(self) -> dict[str, int]:
        """Let all of them happen; how many calls each of them met."""
        faults: dict[str, Callable[[], None]] = {
            "callers leave, calls are cut, quota runs out": lambda: None,
            "a worker is killed": lambda: self._worker_gets(signal.SIGKILL),
            "the provider dies": self._provider_dies,
            "PostgreSQL stands still": self._postgres_stands_still,
            # Not sooner: a worker that dies within 5.5 s of its start takes the node with it.
            "a worker aborts": lambda: self._worker_gets(signal.SIGABRT),
            "PostgreSQL crashes": self._postgres_crashes,
            "Redis dies": self._redis_dies,
            "the node is stopped": self._node_stops,
        }
        met = {}
        for name, fault in faults.items():
            before = len(self.heard)
            with self._calls_under_way():
                time.sleep(UNDER_WAY_SECONDS)
                fault()
                wait_until(lambda: self._site.node.status("/readyz") == 200)
                time.sleep(UNDER_WAY_SECONDS)
            met[name] = len(self.heard) - before
            say(f"{name}: {met[name]} calls, {sum(one.status == 200 for one in self.heard[before:])} of them well")
        return met

    @contextmanager
    def _calls_under_way(self) -> Iterator[None]:
        over = threading.Event()
        with ThreadPoolExecutor(CALLERS) as hands:
            for number in range(CALLERS):
                hands.submit(self._call_on, number, over)
            try:
                yield
            finally:
                over.set()

    def _call_on(self, number: int, over: threading.Event) -> None:
        door = self._site.node if number % 2 else self._site.front
        for call in self._endless(number):
            if over.is_set():
                return
            self.heard.append(place(door.port, call))
            if self.heard[-1].status in {0, 502, 503}:
                over.wait(REFUSED_SECONDS)

    def _endless(self, caller: int) -> Iterator[Call]:
        """Calls of every kind and vendor, most of them slow enough to be met by something."""
        targets = self._site.targets
        vendors = [name for name in targets.models if name in {"openai", "azure", "anthropic", "gemini"}]
        for turn in count(caller):
            vendor = vendors[turn % len(vendors)]
            streamed, poor = turn % 3 != 0, turn % 5 == 0
            said = self._canaries.text(f"during faults, {vendor}") * SAID_TIMES + (SLOW if streamed else LATE)
            fields = {"model": targets.models[vendor], "messages": [{"role": "user", "content": said}]}
            body = fields | {"stream": streamed, "max_tokens": 1_000}
            leaves = 900 if turn % 4 == 0 else None
            key = targets.poor_key if poor else targets.key
            yield json_call(f"during faults, {vendor}", PATH, body, key, leaves_after=leaves)
            if turn % 6 == 0:
                yield next(upload_calls(self._canaries, targets.models["transcription"], targets.key))
                yield next(image_calls(self._canaries, targets.models["image"], targets.key))
                yield next(speech_calls(self._canaries, targets.models["speech"], targets.key))

    def _provider_dies(self) -> None:
        self._site.simulator.kill()
        time.sleep(UNDER_WAY_SECONDS)
        self._site.simulator.start()

    def _worker_gets(self, number: signal.Signals) -> None:
        assert self._site.node.process is not None
        node = self._site.node.process.pid
        workers = [child for child in children(node) if b"resource_tracker" not in _command_line(child)]
        os.kill(workers[0], number)
        wait_until(lambda: workers[0] not in children(node))

    def _postgres_stands_still(self) -> None:
        self._site.postgres.freeze()
        time.sleep(FROZEN_SECONDS)
        self._site.postgres.thaw()

    def _postgres_crashes(self) -> None:
        self._site.postgres.crash()
        time.sleep(UNDER_WAY_SECONDS)
        self._site.postgres.start()

    def _redis_dies(self) -> None:
        self._site.redis.kill()
        time.sleep(UNDER_WAY_SECONDS)
        self._site.redis.start()

    def _node_stops(self) -> None:
        self._site.node.stop()
        self._site.node.start()


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
