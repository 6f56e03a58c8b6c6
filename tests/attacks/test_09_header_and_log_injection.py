"""Line ends and control characters in keys, names and paths: no header and no log line is made of them."""

import json
from urllib.parse import quote

import pytest

from tests.attacker import BOUNDARY, SOUND, Attacker
from tests.attacks.sockets import post, send
from tests.chat import chat
from tests.client import ask
from tollkeeper.core.catalog.models import Kind
from tools.services.process import wait_until

MARK = "injected-mark"
INJECTIONS = (
    f"x\r\nSet-Cookie: {MARK}=1",
    f"x\nX-{MARK}: 1",
    f"x\r\n\r\n<html>{MARK}",
    f'x"}}\n{{"request_id":"{MARK}","status":200}}',
    f"x\u2028{MARK}\u0085{MARK}",
    f"x\x1b[2J\x1b]0;{MARK}\x07",
    f"x\0{MARK}",
    f"%0d%0aSet-Cookie:%20{MARK}=1",
    f"{{{{{MARK}}}}}${{jndi:ldap://127.0.0.1/{MARK}}}",
)
INJECTED = pytest.mark.parametrize("text", INJECTIONS, ids=range(len(INJECTIONS)))


def check(headers: dict[str, str]) -> None:
    assert not any(MARK in name or MARK in value for name, value in headers.items())
    assert "set-cookie" not in headers


@INJECTED
def test_by_a_key(attacker: Attacker, text: str) -> None:
    line = b"Authorization: Bearer sk-" + text.encode() + b"\r\n"
    head = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + line + b"Connection: close\r\n\r\n"
    answer, _ = send(attacker.node, [head])
    assert answer.status in {400, 401}
    check(answer.headers)


@INJECTED
def test_by_a_model_id(attacker: Attacker, text: str) -> None:
    answer = chat(attacker.node, attacker.key, text, "Hi")
    assert answer.status in {400, 404}
    check(answer.headers)


@INJECTED
def test_by_a_path_and_a_method(attacker: Attacker, text: str) -> None:
    for path in (f"/v1/{quote(text)}", f"/v1/models?{quote(text)}"):
        answer = ask(attacker.node, path, key=attacker.key)
        assert answer.status in {200, 400, 404}
        check(answer.headers)
    answer, _ = send(attacker.node, [text.encode() + b" /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n"])
    assert answer.status in {400, 405}
    check(answer.headers)


@INJECTED
def test_by_a_header_that_is_passed_on_or_logged(attacker: Attacker, text: str) -> None:
    for name in ("User-Agent", "X-Request-Id", "Origin", "Referer", "X-Forwarded-For", "Idempotency-Key"):
        written = f"{name}: ".encode() + text.encode()
        head = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + written + b"\r\nConnection: close\r\n\r\n"
        answer, _ = send(attacker.node, [head])
        assert answer.status in {400, 401}, name
        assert not any(MARK in value for header, value in answer.headers.items() if header != "vary")


@INJECTED
def test_by_a_file_name(attacker: Attacker, text: str) -> None:
    """It goes on to the provider in a form that we write anew."""
    name = text.encode()
    parts = (
        b'--%b\r\nContent-Disposition: form-data; name="model"\r\n\r\n%b\r\n'
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b.wav"\r\n\r\n%b\r\n--%b--\r\n'
    )
    boundary, model = BOUNDARY.encode(), attacker.models[Kind.TRANSCRIPTION].encode()
    body = parts % (boundary, model, boundary, name, SOUND, boundary)
    head = post(
        "/v1/audio/transcriptions",
        f"Authorization: Bearer {attacker.witness}",
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    answer, _ = send(attacker.node, [head + body])
    assert answer.status in {200, 400}, answer.text
    check(answer.headers)
    if answer.status == 200:
        row = attacker.simulator.wait_for(answer.headers["x-request-id"])
        assert MARK not in json.dumps(row)


def test_every_line_of_the_log_is_one_calls(attacker: Attacker) -> None:
    last = ask(attacker.node, "/v1/models", key=attacker.key).headers["x-request-id"]
    wait_until(lambda: last in attacker.node.log.read_text(), within_seconds=30)
    written = attacker.node.log.read_text()
    assert not any(ord(letter) < 32 and letter != "\n" for letter in written)
    ids = [json.loads(line)["request_id"] for line in written.split("\n") if '"request_id"' in line]
    assert len(ids) == len(set(ids))
    assert MARK not in ids
