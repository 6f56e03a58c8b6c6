"""Attacks by the other header for keys: guesses are counted, and no two readers see two keys."""

from uuid import uuid4

from tests.attacker import Attacker
from tests.attacks.conftest import INVALID_CALLS
from tests.attacks.sockets import send
from tests.client import ask
from tests.customers import Customers
from tests.messages import PATH
from tools.node import Node
from tools.services.process import wait_until

BODY = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}'


async def test_guesses_ban_the_guesser_and_a_good_key_passes_the_ban(
    proxied_node: Node, guarded: tuple[dict[str, str], Customers]
) -> None:
    owner = await guarded[1].a_customer()
    for number, path in enumerate((PATH, "/v1/messages/count_tokens", "/v1/models")):
        mine = {"X-Forwarded-For": f"198.51.100.{200 + number}", "anthropic-version": "2023-06-01"}
        method, body = ("GET", None) if path == "/v1/models" else ("POST", BODY)
        for _ in range(INVALID_CALLS + 1):
            guess = {"x-api-key": f"sk-{uuid4().hex}{uuid4().hex}"[:52]}
            ask(proxied_node, path, method=method, headers=mine | guess, body=body)

        def is_banned(sent: dict[str, str] = mine) -> bool:
            return ask(proxied_node, "/v1/models", headers=sent).status == 403

        wait_until(is_banned, within_seconds=40)
        refused = ask(proxied_node, "/v1/models", headers=mine | {"x-api-key": "sk-" + "x" * 49})
        assert (refused.status, refused.json["type"], refused.error["type"]) == (403, "error", "permission_error")
        good = mine | {"x-api-key": owner.key}
        assert ask(proxied_node, "/v1/models", headers=good).status == 200
        # A good key beside another one is none.
        both = good | {"Authorization": f"Bearer sk-{'x' * 49}"}
        assert ask(proxied_node, "/v1/models", headers=both).status == 403
        # Chat does not look there.
        assert ask(proxied_node, "/v2/account/balance", headers=good).status == 403


def test_a_key_that_stands_twice_is_malformed(attacker: Attacker) -> None:
    for second in (attacker.key, "sk-other", ""):
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {attacker.key}\r\nX-Api-Key: {second}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
        )
        answer, _ = send(attacker.node, [head.encode() + BODY])
        assert answer.status == 400
        assert answer.json["error"]["type"] == "invalid_request_error"


def test_a_key_that_is_no_ascii_is_malformed(attacker: Attacker) -> None:
    head = f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nx-api-key: {attacker.key}é\r\nConnection: close\r\n\r\n"
    answer, _ = send(attacker.node, [head.encode()])
    assert answer.status in {400, 401}
