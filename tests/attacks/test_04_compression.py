"""Compressed bodies of callers are refused; what a provider packs is not unpacked without bounds."""

import gzip
import json
import zlib

import pytest

from tests.attacker import Attacker
from tests.attacks.sockets import post, send
from tests.client import ask
from tools.services.process import wait_until

ORDER = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
BOMB = gzip.compress(b'{"model":"' + b"x" * 50_000_000)
PACKED = {
    "gzip": gzip.compress(ORDER),
    "GZIP": gzip.compress(ORDER),
    "x-gzip": gzip.compress(ORDER),
    "deflate": zlib.compress(ORDER),
    "br": ORDER,
    "zstd": ORDER,
    "compress": ORDER,
    "gzip, gzip": gzip.compress(gzip.compress(ORDER)),
    "identity, gzip": gzip.compress(ORDER),
    "aws-chunked": ORDER,
    "gzip;q=1": BOMB,
}
PATHS = (
    *("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v2/quote"),
    *("/v1/images/generations", "/v1/images/edits", "/v1/audio/speech", "/v1/audio/transcriptions", "/api/token"),
)
GROWTH_BYTES_MOST = 60 * 1024 * 1024


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("encoding", PACKED)
def test_a_compressed_body_is_refused(attacker: Attacker, path: str, encoding: str) -> None:
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    answer = ask(attacker.node, path, method="POST", key=attacker.key, headers=headers, body=PACKED[encoding])
    # The deprecated endpoint takes less than a bomb has.
    assert answer.status == 400 or (path == "/api/token" and answer.status == 413), answer.text


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, gzip", "gzip", "deflate, chunked", "identity"])
def test_a_compressed_transfer_is_refused(attacker: Attacker, coding: str) -> None:
    packed = gzip.compress(ORDER)
    head = post(
        "/v1/chat/completions",
        f"Authorization: Bearer {attacker.key}",
        "Content-Type: application/json",
        f"Transfer-Encoding: {coding}",
        "Connection: close",
    )
    answer, _ = send(attacker.node, [head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)])
    assert answer.status in {400, 501}, answer.text


def test_nothing_came_of_any(attacker: Attacker) -> None:
    attacker.check_nothing_came_of()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("size", [10_000_000, 100_000_000])
def test_a_bomb_from_a_provider_is_not_unpacked(attacker: Attacker, size: int, stream: bool) -> None:
    before = attacker.node.memory_bytes()
    answer = attacker.chat(f"[[gzip_bomb={size}]]", stream=stream)
    # A stream that was kept alive meanwhile says it in an event.
    assert answer.status == 503 or (stream and answer.status == 200)
    assert b'"code":"provider_unavailable"' in answer.text
    assert ask(attacker.node, "/v2/account/balance", key=attacker.key).json["balance"]["used_cash"] == 0
    wait_until(lambda: attacker.node.memory_bytes() - before <= GROWTH_BYTES_MOST, within_seconds=60)
