"""Slow clients: those who connect and send nothing, half a head, or one byte at a time, and those who do not read."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.chat import chat, listening, order, read_until
from tests.client import ask
from tests.customers import Customer, Customers
from tools.front import BEHIND_A_FRONT, Front
from tools.node import Node
from tools.services.process import wait_until

HALF_OPEN = 500
# Fewer than the half-open connections: without a remedy nobody else would get in.
PLACES = 128
PER_IP = 50
ELSEWHERE = "127.0.0.2"
BEGINNINGS = (b"", b"GET /v1/models HT", b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture(scope="module")
def small_node(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """With few places, from which it takes those back that nobody uses."""
    few = {"TOLLKEEPER_CONNECTIONS": str(PLACES), "TOLLKEEPER_CROWDED_IDLE_SECONDS": "2"}
    with Node(town[0] | BEHIND_A_FRONT | few) as running:
        yield running


@pytest.fixture(scope="module")
def front(small_node: Node) -> Iterator[Front]:
    few = {"TOLLKEEPER_FRONT_CONNECTIONS_PER_IP": str(PER_IP), "TOLLKEEPER_HEAD_SECONDS": "3"}
    with Front(small_node, few | {"TOLLKEEPER_CONNECTIONS": "2000"}) as running:
        yield running


@contextmanager
def half_open(port: int, count: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Connections that begin a request, each a little further, and do not go on."""
    with ExitStack() as stack:
        opened = []
        for number in range(count):
            connection = stack.enter_context(socket.socket())
            connection.settimeout(30)
            connection.bind((source, 0))
            connection.connect(("127.0.0.1", port))
            opened.append(connection)
            try_to_send(connection, BEGINNINGS[number % len(BEGINNINGS)])
        yield opened


def try_to_send(connection: socket.socket, data: bytes) -> bool:
    try:
        connection.sendall(data)
    except ConnectionError:
        return False
    return True


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not closed yet, or is about to: some are told why."""
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) not in {b"", b"H"}
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        connection.settimeout(30)


def open_ones(connections: list[socket.socket]) -> int:
    return sum(map(is_open, connections))


async def a_caller(townsfolk: Customers, node: Node) -> tuple[Customer, str]:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode())
    return customer, model


async def test_half_open_connections_do_not_keep_callers_out(small_node: Node, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, small_node)
    body = order(model, "[[tokens=30 chunk_ms=200]]", stream=True)
    with listening(small_node, customer.key, body) as stream, half_open(small_node.port, HALF_OPEN) as opened:
        began = read_until(stream, b"data: ")
        for _ in range(5):
            assert chat(small_node, customer.key, model, "[[tokens=2]]").status == 200
        wait_until(lambda: open_ones(opened) < PLACES, within_seconds=60)
        # A call under way is none of those without one, however long it takes.
        assert b"[DONE]" in began + read_until(stream, b"[DONE]")


async def test_a_head_that_drips_is_half_open_all_the_same(small_node: Node, townsfolk: Customers) -> None:
    customer, _ = await a_caller(townsfolk, small_node)
    with half_open(small_node.port, PLACES) as opened:

        def all_gone() -> bool:
            for connection in opened:
                try_to_send(connection, b"x")
            return open_ones(opened) < PLACES // 2 + 1

        wait_until(all_gone, within_seconds=60)
        assert ask(small_node, "/v1/models", key=customer.key).status == 200


async def test_a_few_idle_connections_are_left_alone(node: Node) -> None:
    with half_open(node.port, 20) as opened:
        for _ in range(3):
            assert node.status("/livez") == 200
        assert open_ones(opened) == 20


async def test_the_front_takes_so_many_from_one_ip_and_none_of_them_reaches_the_gateway(
    front: Front, small_node: Node, townsfolk: Customers
) -> None:
    customer, model = await a_caller(townsfolk, front)
    lines = len(small_node.call_lines())
    with half_open(front.port, HALF_OPEN, ELSEWHERE) as opened:
        wait_until(lambda: open_ones(opened) <= PER_IP, within_seconds=30)
        answers = [chat(front, customer.key, model, "[[tokens=2]]").status for _ in range(5)]
        assert answers == [200] * 5
        held = [connection for connection in opened if is_open(connection)]
        told = [connection.recv(4_096) for connection in held]
        assert all(text.startswith(b"HTTP/1.1 408 ") and b'"slow_head"' in text for text in told if text)
        wait_until(lambda: open_ones(held) == 0, within_seconds=30)
    wait_until(lambda: len(small_node.call_lines()) >= lines + 5)
    assert {line["status"] for line in small_node.call_lines()[lines:]} == {200}


async def test_the_places_of_one_ip_are_free_again(front: Front) -> None:
    for _ in range(3):
        with half_open(front.port, PER_IP, ELSEWHERE) as opened:
            assert open_ones(opened) == PER_IP

        def is_free() -> bool:
            with half_open(front.port, 1, ELSEWHERE) as [one]:
                one.sendall(
                    b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"[len(BEGINNINGS[0]) :]
                )
                return one.recv(12) == b"HTTP/1.1 200"

        wait_until(is_free, within_seconds=30)


async def test_callers_who_do_not_read_keep_nobody_else_waiting(front: Front, townsfolk: Customers) -> None:
    customer, model = await a_caller(townsfolk, front)
    with ExitStack() as stack:
        body = order(model, "[[tokens=20000 per_chunk=200]]", stream=True)
        for _ in range(20):
            stack.enter_context(listening(front, customer.key, body))
        assert [chat(front, customer.key, model, "[[tokens=2]]").status for _ in range(5)] == [200] * 5
