"""X-Forwarded-For: nobody dodges a ban by it, and nobody gets another banned."""

import json
from collections.abc import Iterator

import pytest

from tests.attacks.conftest import INVALID_CALLS
from tests.attacks.sockets import send
from tests.client import ask
from tests.customers import Customers
from tools.node import Node
from tools.services.process import wait_until

VICTIM = "203.0.113.77"
# What is claimed beside the hop that the proxy of the operator writes itself.
CLAIMS = (
    {"X-Forwarded-For": f"{VICTIM}, 198.51.100.{{guilty}}"},
    {"X-Forwarded-For": "198.51.100.{guilty}", "X-Real-IP": VICTIM},
    {"X-Forwarded-For": "198.51.100.{guilty}", "Forwarded": f"for={VICTIM}"},
    {"X-Forwarded-For": "198.51.100.{guilty}", "True-Client-IP": VICTIM, "CF-Connecting-IP": VICTIM},
    {"X-Forwarded-For": "198.51.100.{guilty}", "X-Client-IP": VICTIM, "X-Cluster-Client-IP": VICTIM},
    {"X-Forwarded-For": f"{VICTIM},,, 198.51.100.{{guilty}}"},
    {"X-Forwarded-For": f"{VICTIM}\t,::1, 127.0.0.1, 198.51.100.{{guilty}}"},
    {"X-Forwarded-For": f"{', '.join([VICTIM] * 200)}, 198.51.100.{{guilty}}"},
)


@pytest.mark.parametrize("number", range(len(CLAIMS)))
def test_the_last_hop_is_banned_whatever_is_claimed_beside_it(proxied_node: Node, number: int) -> None:
    claimed = {name: value.format(guilty=150 + number) for name, value in CLAIMS[number].items()}
    for _ in range(INVALID_CALLS + 1):
        assert ask(proxied_node, "/v1/nothing", headers=claimed).status in {403, 404}
    wait_until(lambda: ask(proxied_node, "/v1/models", headers=claimed).status == 403, within_seconds=40)
    # The same hop, with other claims beside it, and the victim.
    dodging = {"X-Forwarded-For": f"192.0.2.{number}, 198.51.100.{150 + number}"}
    assert ask(proxied_node, "/v1/models", headers=dodging).status == 403
    assert ask(proxied_node, "/v1/models", headers={"X-Forwarded-For": VICTIM}).status == 401


def test_of_two_headers_the_last_hop_of_the_last_counts(proxied_node: Node) -> None:
    two = f"X-Forwarded-For: {VICTIM}\r\nX-Forwarded-For: 198.51.100.190\r\n".encode()
    head = b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n" + two + b"Connection: close\r\n\r\n"
    for _ in range(INVALID_CALLS + 1):
        assert send(proxied_node, [head])[0].status in {400, 403, 404}
    assert ask(proxied_node, "/v1/models", headers={"X-Forwarded-For": VICTIM}).status == 401


@pytest.fixture(scope="module")
def open_node(guarded: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """It has no proxy before it, and believes nobody."""
    with Node(guarded[0]) as running:
        wait_until(lambda: json.loads(ask(running, "/readyz").text).get("redis", "ok") == "ok", within_seconds=40)
        yield running


def test_without_a_trusted_proxy_the_header_means_nothing(open_node: Node, proxied_node: Node) -> None:
    """This machine is banned, however many it claims to be; of those it claims to be, nobody is."""
    claims = [f"203.0.113.{number}" for number in range(INVALID_CALLS + 5)]

    def is_banned() -> bool:
        statuses = [ask(open_node, "/v1/nothing", headers={"X-Forwarded-For": claim}).status for claim in claims]
        return statuses[-1] == 403

    wait_until(is_banned, within_seconds=40)
    assert ask(open_node, "/v1/models", headers={"X-Forwarded-For": "192.0.2.200"}).status == 403
    # The node that does believe its proxy knows of no ban of those.
    for claim in claims[:3]:
        assert ask(proxied_node, "/v1/models", headers={"X-Forwarded-For": claim}).status == 401
