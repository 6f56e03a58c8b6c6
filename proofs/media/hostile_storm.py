"""The hostile uploads, several at once, while others chat: what was answered, how fast, and what memory is left."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from random import Random
from socket import create_server
from threading import Event

import msgspec

from proofs.media.case import TRANSCRIPTIONS
from proofs.media.hostile import Upload, hundred
from proofs.media.http_call import Answer, call, form_order, json_order
from proofs.rig.measuring.processes import memory_bytes
from proofs.rig.patience import came_true
from proofs.rig.proof import say
from tools.node import Node

AT_ONCE = 8
SEED = 20261115
CHATS = 200
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Say something. [[tokens=20]]"}]}
GROWTH_BYTES_MOST = 40 * 1024 * 1024
# What was freed goes back with the next look of the allocator, not at once.
SETTLED_WITHIN_SECONDS = 15


class Storm(msgspec.Struct, kw_only=True):
    """What came of it."""

    answers: list[tuple[str, Answer]]
    chats: list[Answer]
    growth_bytes: int
    strangers_called: bool


class Weather:
    """A node in the middle of it."""

    def __init__(self, node: Node, *, upload_keys: Sequence[str], chat_key: str) -> None:
        self._node = node
        self._base = f"{node.base}/v1"
        self._upload_keys = upload_keys
        self._chat_key = chat_key

    def blow(self, repetitions: int) -> Storm:
        with canary() as (address, was_called):
            uploads = [(upload, upload.content(Random(SEED + at))) for at, upload in enumerate(hundred(address))]
            say(f"{len(uploads)} hostile uploads × {repetitions}, {AT_ONCE} at once, seed={SEED}")
            chats = self._chats("before", lambda count: count == CHATS)
            before = memory_bytes(self._node)
            answers, during = self._hostile(uploads * repetitions)
            after = self._memory_after(before)
            chats += [*during, *self._chats("after", lambda count: count == CHATS)]
            return Storm(answers=answers, chats=chats, growth_bytes=after - before, strangers_called=was_called())

    def _hostile(self, uploads: Sequence[tuple[Upload, bytes]]) -> tuple[list[tuple[str, Answer]], list[Answer]]:
        over = Event()
        with ThreadPoolExecutor(AT_ONCE + 1) as hands:
            chatting: Future[list[Answer]] = hands.submit(self._chats, "during", lambda _: over.is_set())
            try:
                turns = zip(uploads, cycle(self._upload_keys), strict=False)
                sent = [hands.submit(self._send, upload, content, key) for (upload, content), key in turns]
                answers = [future.result() for future in sent]
            finally:
                over.set()
            statuses = Counter(answer.status for _, answer in answers)
            slowest = max(answer.seconds for _, answer in answers)
            say(f"answered {dict(sorted(statuses.items()))}, each within {slowest:.1f} s")
            return answers, chatting.result()

    def _send(self, upload: Upload, content: bytes, key: str) -> tuple[str, Answer]:
        order = form_order(TRANSCRIPTIONS, {"model": "whisper-1"}, f"sound.{upload.ending}", content)
        return upload.name, call(self._base, key, order)

    def _chats(self, when: str, is_enough: Callable[[int], bool]) -> list[Answer]:
        """Plain chats, one after the other."""
        answers: list[Answer] = []
        while not is_enough(len(answers)):
            answers.append(call(self._base, self._chat_key, json_order("/chat/completions", CHAT)))
        milliseconds = [1000 * answer.seconds for answer in answers]
        p50, p99 = statistics.median(milliseconds), statistics.quantiles(milliseconds, n=100)[98]
        say(f"{len(answers)} chats {when}: p50={p50:.1f} ms p99={p99:.1f} ms")
        return answers

    def _memory_after(self, before: int) -> int:
        came_true(lambda: memory_bytes(self._node) - before <= GROWTH_BYTES_MOST, within_seconds=SETTLED_WITHIN_SECONDS)
        return memory_bytes(self._node)


@contextmanager
def canary() -> Iterator[tuple[str, Callable[[], bool]]]:
    """An address, and whether anybody has called there."""
    with create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        def was_called() -> bool:
            try:
                server.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        yield f"http://127.0.0.1:{server.getsockname()[1]}/sound.mp3", was_called
