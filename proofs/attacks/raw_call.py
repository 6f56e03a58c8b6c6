"""Calls of attackers: as much of the answer as each reads, and what is told of it: words, leaks, problems."""

import re

import msgspec

from proofs.rig.answer import unchunked
from proofs.rig.raw_calls import STAYING, Leaving, Received, exchange
from tollkeeper_simulator.speech import WORDS

# Words of an answer stand after a space, or begin it.
SAID = re.compile(rb' (?:%b)\b|"(?:%b|%b)\b' % tuple(map(str.encode, ("|".join(WORDS), WORDS[0], WORDS[-1]))))
ERROR = b'"error":{'
PROBLEM_BYTES = 300


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call, for its caller."""

    status: int = 0
    size_bytes: int = 0
    # Words of the answer that came, each of them a token.
    words: int = 0
    hung: bool = False
    # From connecting to the last byte that was read.
    seconds: float = 0.0
    # By the monotonic clock; None where the answer came to its end before.
    left_at: float | None = None
    leaked: bool = False
    # Of what is no answer, its beginning.
    problem: str = ""


async def call(port: int, sent: bytes, leaving: Leaving = STAYING, secrets: tuple[bytes, ...] = ()) -> Heard:
    return _heard(await exchange(port, sent, leaving), secrets)


def _heard(received: Received, secrets: tuple[bytes, ...]) -> Heard:
    head, _, rest = received.raw.partition(b"\r\n\r\n")
    body = unchunked(rest)[0] if b"transfer-encoding" in head.lower() else rest
    status = int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") and len(head) > 12 else 0
    words = len(SAID.findall(body.partition(ERROR)[0])) if status == 200 else 0
    return Heard(
        status=status,
        size_bytes=len(received.raw),
        words=words,
        hung=received.hung,
        seconds=received.seconds,
        left_at=None if received.left_at is None else received.left_at.monotonic,
        leaked=any(secret in received.raw for secret in secrets),
        problem="" if status == 200 else body[:PROBLEM_BYTES].decode("utf-8", "replace"),
    )
