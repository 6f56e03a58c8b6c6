"""Request smuggling: requests that two parsers could read differently, over raw sockets."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attacks.raw import Heard, say
from tests.attacks.smuggling import HIDDEN, Case, cases
from tests.chat import PATH, chat, order
from tests.client import ask
from tests.customers import Customer, Customers
from tools.front import BEHIND_A_FRONT, Front
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

AT_ONCE = 16
# How long a connection that must be closed is listened to.
CLOSED_SECONDS = 60.0

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture(scope="module")
def behind(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    with Node(town[0] | BEHIND_A_FRONT) as running:
        yield running


@pytest.fixture(scope="module")
def front(behind: Node) -> Iterator[Front]:
    with Front(behind) as running:
        yield running


def say_all(port: int, key: str, patience_seconds: float) -> dict[str, Heard]:
    def said(case: Case) -> Heard:
        return say(port, case.raw.replace(b"KEY", key.encode()), patience_seconds=patience_seconds)

    chosen = cases()
    with ThreadPoolExecutor(AT_ONCE) as callers:
        return dict(zip([case.name for case in chosen], callers.map(said, chosen), strict=True))


async def a_caller(townsfolk: Customers, node: Node) -> tuple[Customer, str]:
    customer, model = await townsfolk.a_customer(usd="4"), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode())
    return customer, model


def cash(node: Node, customer: Customer) -> object:
    return ask(node, "/v2/account/balance", key=customer.key).json["balance"]["remained_cash"]


async def test_the_front_refuses_every_case_and_closes(
    front: Front, behind: Node, townsfolk: Customers, simulator: Simulator
) -> None:
    customer, _ = await a_caller(townsfolk, front)
    calls = len(simulator.truth())
    heard = say_all(front.port, customer.key, CLOSED_SECONDS)
    assert len(heard) > 200
    assert {name: told.text for name, told in heard.items() if told.statuses != [400] or not told.is_closed} == {}
    # Bodies in chunks are begun before they are found out, and the gateway answers; everything else does not reach it.
    begun = [name for name, told in heard.items() if b'"malformed_request"' not in told.text]
    assert all(name.startswith(("chunk ", "last chunk ")) for name in begun)
    assert all(b"\r\ncache-control: no-store\r\n" in told.text for told in heard.values())
    assert not [line for line in behind.call_lines() if line["path"] == "/smuggled"]
    assert (cash(front, customer), len(simulator.truth())) == (4.0, calls)


async def test_without_a_front_the_gateway_refuses_every_case_and_closes(
    node: Node, townsfolk: Customers, simulator: Simulator
) -> None:
    customer, _ = await a_caller(townsfolk, node)
    calls = len(simulator.truth())
    heard = say_all(node.port, customer.key, CLOSED_SECONDS)
    assert {name: told.text for name, told in heard.items() if told.statuses != [400] or not told.is_closed} == {}
    assert not [line for line in node.call_lines() if line["path"] == "/smuggled"]
    assert (cash(node, customer), len(simulator.truth())) == (4.0, calls)


async def test_a_malformed_request_behind_a_good_one_is_refused_in_its_turn(
    front: Front, behind: Node, townsfolk: Customers
) -> None:
    customer, model = await a_caller(townsfolk, front)
    body = json.dumps(order(model, "[[tokens=3 delay_ms=300]]")).encode()
    good = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {customer.key}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    heard = say(front.port, good + b"GET / HTTP/1.1\nHost: a\r\n\r\n" + HIDDEN, patience_seconds=CLOSED_SECONDS)
    assert (heard.statuses, heard.is_closed) == ([200, 400], True)
    assert not [line for line in behind.call_lines() if line["path"] == "/smuggled"]


async def test_calls_pass_the_front_whole_and_streamed(front: Front, behind: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, front)
    assert chat(front, customer.key, model, "[[tokens=5]]").status == 200
    assert chat(front, customer.key, model, "[[tokens=50 chunk_ms=2]]", stream=True).text.endswith(b"data: [DONE]\n\n")
    large = chat(front, customer.key, model, "long " * 400_000, max_tokens=1)
    assert large.status in {200, 400, 403}, large.text[:200]


@pytest.mark.parametrize("path", ["/v1%2fmodels", "/v1/%6dodels", "/%6civez", "/v1/models%00", "/v1/models%2f..%2f"])
async def test_an_encoded_path_is_not_a_route(node: Node, townsfolk: Customers, path: str) -> None:
    customer = await townsfolk.a_customer()
    answer = ask(node, path, key=customer.key)
    assert (answer.status, answer.error["code"]) == (404, "endpoint_not_found")
