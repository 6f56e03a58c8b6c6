"""Requests that no client would send: bombs in forms, odd JSON, guessed keys, and two requests told as one."""

import random
from collections.abc import Mapping, Sequence

from proofs.rig.raw_calls import chat_request

EACH = 60
PARTS = 100_000
DEEP = 100_000
BOUNDARY_BYTES = 1_000_000
PART = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
FORMS = ("/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits")
PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v2/quote")
ODD_JSON = (
    b'{"model":' + b"[" * DEEP + b"]" * DEEP + b"}",
    b'{"model":"a","messages":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    b'{"model":"a","temperature":NaN}',
    b'{"model":"a","temperature":1e999}',
    b'{"model":"a","n":' + b"9" * 5_000 + b"}",
    b'{"model":"a","model":"b","messages":[]}',
    b'{"model":"\\ud800","messages":[]}',
    b'{"model":"a\\u0000","messages":[{"role":"user","content":"\\u0000"}]}',
)
# Each with a second request behind the first.
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
FRAMINGS = (
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n",
    b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    b"X: a\r\n b\r\nContent-Length: +0\r\n\r\n",
)


def rude_requests(keys: Sequence[str]) -> Mapping[str, Sequence[bytes]]:
    """By name, for one customer's keys."""
    chance = random.Random(len(keys))
    return {
        "multipart bombs": [_bomb(keys[at % len(keys)], at) for at in range(EACH // 4)],
        "odd JSON": [
            chat_request(keys[at % len(keys)], ODD_JSON[at % len(ODD_JSON)], path=PATHS[at % len(PATHS)])
            for at in range(EACH)
        ],
        "guessed keys": [
            chat_request(f"sk-{chance.randbytes(24).hex()}", b"{}", path=PATHS[at % len(PATHS)])
            for at in range(5 * EACH)
        ],
        "smuggled requests": [_two_in_one(keys[at % len(keys)], FRAMINGS[at % len(FRAMINGS)]) for at in range(EACH)],
    }


def _bomb(key: str, number: int) -> bytes:
    boundary, body = (
        (b"b", PART * PARTS + b"--b--\r\n"),
        (b"b" * BOUNDARY_BYTES, b"--" + b"b" * BOUNDARY_BYTES + b"--\r\n"),
        (b"b", PART.replace(b"1\r\n", b"1" * 10_000_000 + b"\r\n") + b"--b--\r\n"),
    )[number % 3]
    whole = chat_request(key, body, path=FORMS[number % len(FORMS)])
    return whole.replace(b"application/json", b"multipart/form-data; boundary=" + boundary, 1)


def _two_in_one(key: str, framing: bytes) -> bytes:
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    return head.encode() + b"Connection: close\r\n" + framing + SMUGGLED
