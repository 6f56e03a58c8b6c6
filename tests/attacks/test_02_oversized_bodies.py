"""Bodies that are too large, announced or not: refused early, and let go."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attacker import Attacker
from tests.attacks.sockets import post, send
from tools.node import Node
from tools.services.process import wait_until

MEGABYTE = 1024 * 1024
JSON, FORM = "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=b"
# By path: the kind of body, and the megabytes that are taken.
LIMITS = {
    "/v1/chat/completions": (JSON, 32),
    "/v1/messages": (JSON, 32),
    "/v1/messages/count_tokens": (JSON, 32),
    "/v1/responses": (JSON, 32),
    "/v1/embeddings": (JSON, 32),
    "/v2/quote": (JSON, 32),
    "/v1/images/generations": (JSON, 32),
    "/v1/images/edits": (FORM, 25),
    "/v1/audio/speech": (JSON, 32),
    "/v1/audio/transcriptions": (FORM, 25),
    "/v1/audio/translations": (FORM, 25),
}
# A refused body is heard out for as much again, so that the refusal is heard; and some of it is on its way: on a busy
# machine all that the buffers of both ends hold, 24 MB seen.
DRAINED_MEGABYTES = 32 + 64
GROWTH_BYTES_MOST = 60 * MEGABYTE


def authorization(attacker: Attacker) -> str:
    return f"Authorization: Bearer {attacker.key}"


@pytest.mark.parametrize("path", LIMITS)
@pytest.mark.parametrize("more", ["1 byte", "1 TB", "2^63", "2^64"])
def test_an_announced_length_is_refused_before_the_body_comes(attacker: Attacker, path: str, more: str) -> None:
    kind, megabytes = LIMITS[path]
    beyond = {"1 byte": 1 + 64 * 1024, "1 TB": 10**12, "2^63": 2**63, "2^64": 2**64}[more]
    length = f"Content-Length: {megabytes * MEGABYTE + beyond}"
    answer, _ = send(attacker.node, [post(path, kind, authorization(attacker), length)])
    # A length that no machine can count is no length.
    assert answer.status == 413 or (answer.status == 400 and more in {"2^63", "2^64"}), answer.text
    attacker.check_nothing_came_of(answer)


def endless(head: bytes) -> Iterator[bytes]:
    yield head
    yield b'5\r\n{"a":\r\n1\r\n"\r\n' if JSON.encode() in head else b"3\r\n--b\r\n"
    while True:
        yield b"%x\r\n%b\r\n" % (MEGABYTE, b"x" * MEGABYTE)


def oversized(attacker: Attacker, path: str) -> tuple[int, int]:
    kind, _ = LIMITS[path]
    answer, sent = send(attacker.node, endless(post(path, kind, authorization(attacker), "Transfer-Encoding: chunked")))
    return answer.status, sent


@pytest.mark.parametrize("path", LIMITS)
def test_a_body_without_a_length_is_refused_when_it_becomes_too_large(attacker: Attacker, path: str) -> None:
    status, sent = oversized(attacker, path)
    assert status in {400, 413}
    assert sent <= (LIMITS[path][1] + DRAINED_MEGABYTES) * MEGABYTE
    attacker.check_nothing_came_of()


def test_memory_is_flat_afterwards(attacker: Attacker, record_property: Callable[[str, object], None]) -> None:
    def several(times: int) -> None:
        with ThreadPoolExecutor(2) as callers:
            found = list(callers.map(lambda _: oversized(attacker, "/v1/chat/completions"), range(times)))
        assert {status for status, _ in found} <= {413, 503}

    node: Node = attacker.node
    several(4)
    before = node.memory_bytes()
    several(12)
    record_property("cases", 16)
    wait_until(lambda: node.memory_bytes() - before <= GROWTH_BYTES_MOST, within_seconds=60)
