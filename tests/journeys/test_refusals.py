"""Requests that cannot be served, and what is said about them."""

import http.client
import resource
import socket
from uuid import UUID

import pytest

from tests.client import ask
from tests.customers import Customers
from tools.node import Node
from tools.services.process import wait_until


@pytest.mark.rule("X5.1", "X1.404")
@pytest.mark.parametrize(
    "path", ["/nothing", "/v1", "/v1/nothing", "/v2/models", "/v1/models/", "/api", "/%00", "/v1//models"]
)
async def test_an_unknown_endpoint_is_404_in_the_shape_that_sdks_parse(node: Node, path: str) -> None:
    answer = ask(node, path)
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.json.keys() == {"error"}
    assert answer.error.keys() == {"message", "type", "param", "code"}
    assert answer.error["code"] == "endpoint_not_found"


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("POST", "/v1/v1/chat/completions", "The base address has /v1 twice"),
        ("POST", "/v1/v1/messages", "The base address has /v1 twice"),
        ("POST", "/chat/completions", "There is /v1/chat/completions: add /v1 to the base address"),
        ("POST", "/embeddings", "There is /v1/embeddings: add /v1"),
        ("POST", "/openai/v1/chat/completions", "There is /v1/chat/completions: leave out of the base address"),
        ("POST", "/v1/completions", "use POST /v1/chat/completions"),
        ("GET", "/v1/threads/abc/runs", "Nothing is kept between calls here"),
        ("GET", "/v1/models/", "Ask for /v1/models, in small letters and without a slash at its end"),
        ("POST", "/v1/responses/", "Ask for /v1/responses, in small letters and without a slash at its end"),
        ("GET", "/v1/responses/resp_1", "Responses are not stored here"),
        ("POST", "/v1/messages/batches", "Calls are answered at once here: use POST /v1/messages."),
        ("GET", "/v1/messages/msg_1", "there are POST /v1/messages and POST /v1/messages/count_tokens"),
        ("POST", "/V1/Chat/Completions", "Ask for /v1/chat/completions, in small letters"),
        ("GET", "/v1/nothing", "There are POST /v1/chat/completions, POST /v1/messages"),
    ],
)
async def test_what_is_there_instead_is_named(node: Node, method: str, path: str, told: str) -> None:
    message = ask(node, path, method=method).error["message"]
    assert message.startswith(f"There is no endpoint {method} {path} here. ")
    assert told in message
    assert message.endswith("Nothing was charged.")


@pytest.mark.parametrize(
    "path", ["/v1/%0d%0aset-cookie", "/v1/%3Cscript%3E", "/v1/" + "x" * 200, "/v1/sk-%61?key=sk-b"]
)
async def test_of_a_path_that_is_none_nothing_is_repeated(node: Node, path: str) -> None:
    message = ask(node, path).error["message"]
    assert message.startswith("There is no endpoint like that here. ")
    assert "script>" not in message
    assert "sk-" not in message


@pytest.mark.rule("S11.4")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD"])
async def test_a_wrong_method_is_405_with_what_is_allowed_and_says_stop(node: Node, method: str) -> None:
    answer = ask(node, "/v1/models", method=method)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET"
    if method != "HEAD":
        assert "will not help" in answer.error["message"]


@pytest.mark.rule("X1.400", "E1.2", "E2.3")
async def test_a_get_with_a_body_is_400(node: Node, townsfolk: Customers) -> None:
    key = (await townsfolk.a_customer()).key
    for path in ("/v1/models", "/v2/account/balance", "/v2/token/balance"):
        answer = ask(node, path, key=key, body=b"{}")
        assert answer.status == 400
        assert answer.error["code"] == "unexpected_body"


@pytest.mark.rule("X1.400")
async def test_a_malformed_header_is_400(node: Node, townsfolk: Customers) -> None:
    key = (await townsfolk.a_customer()).key
    for values in ([f"Bearer {key}", f"Bearer {key}"], ["Bearer \xe9"]):
        connection = http.client.HTTPConnection("127.0.0.1", node.port)
        connection.putrequest("GET", "/v1/models")
        for value in values:
            connection.putheader("Authorization", value.encode("latin-1"))
        connection.endheaders()
        response = connection.getresponse()
        assert response.status == 400
        assert b"malformed_header" in response.read()
        connection.close()


@pytest.mark.rule("X1.413")
async def test_a_body_announced_too_large_is_413_before_it_is_sent(node: Node) -> None:
    with socket.create_connection(("127.0.0.1", node.port), timeout=5) as raw:
        raw.sendall(b"POST /api/token HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        assert raw.recv(65536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.rule("X1.413")
async def test_a_body_that_turns_out_too_large_is_413(node: Node) -> None:
    with socket.create_connection(("127.0.0.1", node.port), timeout=5) as raw:
        raw.sendall(b"POST /api/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        raw.sendall((b"1000\r\n" + b"x" * 4096 + b"\r\n") * 3)
        assert raw.recv(65536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.rule("X1.400")
async def test_a_compressed_body_is_400(node: Node) -> None:
    answer = ask(node, "/api/token", method="POST", headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b")
    assert answer.status == 400


async def test_every_answer_has_an_id_of_its_own_and_is_not_cached(node: Node, townsfolk: Customers) -> None:
    key = (await townsfolk.a_customer()).key
    answers = [
        ask(node, "/v1/models", key=key),
        ask(node, "/v1/models"),
        ask(node, "/nothing"),
        ask(node, "/api/token"),
    ]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == len(answers)
    assert {UUID(request_id).version for request_id in ids} == {7}
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}


async def test_browsers_are_let_in_from_anywhere(node: Node) -> None:
    for path in ("/v1/models", "/v2/account/balance", "/v1/not/there/yet"):
        asked = {"Origin": "https://app.example", "Access-Control-Request-Headers": "authorization"}
        answer = ask(node, path, method="OPTIONS", headers=asked)
        assert answer.status == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "authorization" in answer.headers["access-control-allow-headers"]
        assert not {"content-type", "content-length"} & {name.lower() for name in answer.headers}
    assert ask(node, "/v1/models").headers["access-control-allow-origin"] == "*"


async def test_the_log_has_one_line_per_call_and_no_secret(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    good = ask(node, "/v1/models", key=customer.key).headers["x-request-id"]
    bad = ask(node, f"/v1/{customer.key}?key={customer.key}").headers["x-request-id"]
    old = ask(node, "/api/token", method="POST", body={"api_key": customer.key}).headers["x-request-id"]
    odd = ask(node, "/v1/models", method="BREW").headers["x-request-id"]
    # That is no method, and goes no further than the server.
    assert ask(node, "/v1/models", method=customer.key.replace("-", "")).error["code"] == "malformed_request"

    lines: dict[object, dict[str, object]] = {}
    while not {good, bad, old, odd} <= lines.keys():
        lines = {line["request_id"]: line for line in node.call_lines()}
    assert lines[good]["key_id"] == customer.key_id
    assert lines[good]["account_id"] == customer.account_id
    assert (lines[bad]["status"], lines[bad]["code"]) == (404, "endpoint_not_found")
    assert customer.key not in node.log.read_text()
    assert customer.key[8:40] not in node.log.read_text()
    assert lines[odd]["method"] == "other"


async def test_silent_connections_do_not_keep_callers_out(node: Node) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
    silent = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(1_200)]
    try:
        assert ask(node, "/livez").status == 200
    finally:
        for connection in silent:
            connection.close()


async def test_deeply_nested_json_is_400(node: Node) -> None:
    assert ask(node, "/api/token", method="POST", body=b'{"x":' + b"[" * 1_900).status == 400


async def test_health_is_told_under_any_name(node: Node, addressed_node: Node) -> None:
    for running in (node, addressed_node):
        assert ask(running, "/livez", headers={"Host": "10.0.0.1"}).json == {"alive": True}
        assert ask(running, "/readyz", headers={"Host": "10.0.0.1"}).json["ready"] is True


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
async def test_readiness_has_details_for_this_machine_alone(node: Node, header: str) -> None:
    assert set(ask(node, "/readyz").json) == {
        "ready",
        "database",
        "schema",
        "clock",
        "ledger",
        "node",
        "redis",
        "providers",
    }
    assert ask(node, "/readyz", headers={header: "192.0.2.1"}).json == {"ready": True}


async def test_of_a_path_that_is_no_route_nothing_is_logged(node: Node) -> None:
    asked = {path: ask(node, path).headers["x-request-id"] for path in ("/v1/my-secret-words", "/v1/models")}

    def logged() -> dict[object, object]:
        return {line["request_id"]: line["path"] for line in node.call_lines()}

    wait_until(lambda: set(asked.values()) <= logged().keys(), within_seconds=30)
    assert logged()[asked["/v1/my-secret-words"]] == "other"
    assert logged()[asked["/v1/models"]] == "/v1/models"
    assert "my-secret-words" not in node.log.read_text()
