"""Stopping a node: it is out of balancers' lists before it takes no more calls, and impatient people need not wait."""

import http.client
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.chat import chat, listening, order, read_until
from tests.client import ask
from tests.conftest import ADDRESSES
from tests.customers import Customers
from tools.front import Front
from tools.node import Node, children
from tools.services.process import wait_until

MAIN = {"Host": "main.test"}
# No test waits for the end of it.
LONG = {"TOLLKEEPER_LAME_DUCK_SECONDS": "600"}
Town = tuple[dict[str, str], Customers]

pytestmark = pytest.mark.usefixtures("simulator")


@contextmanager
def a_node(settings: dict[str, str]) -> Iterator[Node]:
    node = Node(settings)
    try:
        node.start()
        yield node
    finally:
        node.kill()
        node.__exit__()


def tell(node: Node, number: signal.Signals) -> None:
    assert node.process is not None
    node.process.send_signal(number)


def ended(node: Node) -> int:
    assert node.process is not None
    return node.process.wait(30)


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


async def a_caller(townsfolk: Customers, node: Node) -> tuple[str, str]:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key, headers=MAIN).text.decode())
    return customer.key, model


async def test_a_node_that_is_stopped_says_so_and_takes_calls_for_a_while(town: Town, townsfolk: Customers) -> None:
    with a_node(town[0] | ADDRESSES | LONG) as node:
        key, model = await a_caller(townsfolk, node)
        tell(node, signal.SIGTERM)
        wait_until(lambda: node.status("/readyz") == 503)
        assert ask(node, "/readyz").json["node"] == "stopping"
        assert node.status("/livez") == 200, "whoever kills what is not alive would kill calls"
        answer = chat(node, key, model, "[[tokens=5]]", headers=MAIN)
        assert answer.status == 200
        # A service manager tells every process, and the main process then tells its workers again.
        tell_workers(node, signal.SIGTERM)
        assert chat(node, key, model, "[[tokens=5]]", headers=MAIN).status == 200


def tell_workers(node: Node, number: signal.Signals) -> None:
    assert node.process is not None
    for pid in children(node.process.pid):
        os.kill(pid, number)


async def test_the_port_closes_when_the_time_is_over(town: Town) -> None:
    with a_node(town[0] | ADDRESSES | {"TOLLKEEPER_LAME_DUCK_SECONDS": "1"}) as node:
        tell(node, signal.SIGTERM)
        assert ended(node) == 0
        assert not accepts(node.port)
        said = node.log.read_text()
    assert "calls are taken for 1 s more" in said


async def test_connections_that_balancers_keep_end_with_their_next_answer(town: Town) -> None:
    with a_node(town[0] | ADDRESSES | LONG) as node:
        kept = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
        kept.request("GET", "/livez")
        assert kept.getresponse().read()
        assert kept.sock is not None, "a node that is not stopping keeps connections"
        tell(node, signal.SIGTERM)
        wait_until(lambda: node.status("/readyz") == 503)
        kept.request("GET", "/livez")
        answer = kept.getresponse()
        assert (answer.status, answer.getheader("connection")) == (200, "close")
        kept.close()


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
async def test_a_second_signal_closes_the_port_and_a_third_ends_the_calls(
    town: Town, townsfolk: Customers, again: signal.Signals
) -> None:
    with a_node(town[0] | ADDRESSES | LONG) as node:
        key, model = await a_caller(townsfolk, node)
        body = order(model, "[[tokens=30000 chunk_ms=20]]", stream=True, max_tokens=30_000)
        with listening(node, key, body, "main.test") as stream:
            received = read_until(stream, b"river")
            tell(node, signal.SIGTERM)
            wait_until(lambda: node.status("/readyz") == 503)
            tell(node, again)
            wait_until(lambda: not accepts(node.port))
            received += read_until(stream, b"data")
            assert b"node_stopping" not in received
            tell(node, again)
            assert b'"code":"node_stopping"' in read_until(stream, b"[DONE]")
        assert ended(node) == 0


async def test_ctrl_c_waits_for_no_balancer(town: Town) -> None:
    with a_node(town[0] | ADDRESSES | LONG) as node:
        tell(node, signal.SIGINT)
        assert ended(node) == 0


async def test_a_front_that_is_stopped_says_so_and_takes_calls_for_a_while(
    town: Town, townsfolk: Customers, hasty_node: Node
) -> None:
    key, model = await a_caller(townsfolk, hasty_node)
    with Front(hasty_node, LONG) as front:
        tell(front, signal.SIGTERM)
        wait_until(lambda: front.status("/readyz") == 503)
        assert hasty_node.status("/readyz") == 200
        assert chat(front, key, model, "[[tokens=5]]", headers=MAIN).status == 200
        tell(front, signal.SIGTERM)
        assert ended(front) == 0


class Regular:
    """A client that asks on one connection for as long as it may, then on another, until there is none."""

    def __init__(self, front: Front, key: str) -> None:
        self.front = front
        self.key = key
        self.statuses: list[int] = []
        self.problems: list[Exception] = []
        self._thread = threading.Thread(target=self._ask_on)

    def __enter__(self) -> "Regular":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)

    def _ask_on(self) -> None:
        while (kept := self._connected()) is not None:
            try:
                while kept.sock is not None:
                    kept.request("GET", "/v1/models", headers=MAIN | {"Authorization": f"Bearer {self.key}"})
                    answer = kept.getresponse()
                    answer.read()
                    self.statuses.append(answer.status)
            except (OSError, http.client.HTTPException) as problem:
                self.problems.append(problem)
                return
            finally:
                kept.close()

    def _connected(self) -> http.client.HTTPConnection | None:
        connection = http.client.HTTPConnection("127.0.0.1", self.front.port, timeout=30)
        try:
            connection.connect()
        except ConnectionRefusedError:
            return None
        return connection


@pytest.mark.parametrize("lame_duck_seconds", ["0", "1"])
async def test_a_front_that_is_stopped_waits_for_calls_and_not_for_connections(
    town: Town, townsfolk: Customers, hasty_node: Node, lame_duck_seconds: str
) -> None:
    key, model = await a_caller(townsfolk, hasty_node)
    patient = {"TOLLKEEPER_LAME_DUCK_SECONDS": lame_duck_seconds, "TOLLKEEPER_DRAIN_SECONDS": "600"}
    body = order(model, "[[tokens=60 chunk_ms=100]]", stream=True)
    with Front(hasty_node, patient) as front, listening(front, key, body, "main.test") as stream:
        received = read_until(stream, b"data")
        idle = http.client.HTTPConnection("127.0.0.1", front.port, timeout=30)
        idle.request("GET", "/livez")
        assert idle.getresponse().read()
        assert idle.sock is not None
        with Regular(front, key) as regular:
            wait_until(lambda: len(regular.statuses) > 10)
            tell(front, signal.SIGTERM)
            assert idle.sock.recv(1) == b"", "it is between requests"
            idle.close()
        assert front.process is not None
        assert front.process.poll() is None, "the stream is not over"
        received += read_until(stream, b"0\r\n\r\n")
        assert b"[DONE]" in received
        # Its own connection is let go as well.
        assert stream.recv(1) == b""
        assert ended(front) == 0
    assert regular.problems == []
    assert set(regular.statuses) == {200}
