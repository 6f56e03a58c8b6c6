"""Unfinished and slow bodies: they take nothing from whoever calls beside them."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import asyncpg
import pytest

from tests.chat import PATH, chat
from tests.client import ask
from tests.customers import Customer, Customers
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

MB = 1024 * 1024
UPLOADS = "/v1/audio/transcriptions"
JSON = "application/json"
FORM = "multipart/form-data; boundary=edge"


@contextmanager
def unfinished(
    node: Node, key: str, size_bytes: int, *, path: str = PATH, kind: str = JSON, announced: bool = True
) -> Iterator[socket.socket]:
    """A call whose body comes up to its last byte, and no further."""
    length = f"Content-Length: {size_bytes + 1}" if announced else "Transfer-Encoding: chunked"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: {kind}\r\n{length}\r\n\r\n"
    )
    chunk = b"" if announced else b"%x\r\n" % (size_bytes + 1)
    beginning = (
        b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n' if kind == FORM else b""
    )
    with socket.create_connection(("127.0.0.1", node.port), timeout=30) as connection:
        connection.sendall(head.encode())
        # Whoever is refused before the end has been answered by then.
        with suppress(OSError):
            connection.sendall(chunk + beginning + b"x" * (size_bytes - len(beginning)))
        yield connection


def status_of(connection: socket.socket) -> int:
    return int(connection.recv(65_536).split()[1])


@pytest.fixture(scope="module")
def narrow_node(town: tuple[dict[str, str], Customers]) -> Iterator[Node]:
    """A node that has little room for bodies, in one process, and asks its callers where they are."""
    narrow = {"TOLLKEEPER_READING_BYTES": str(80 * MB), "TOLLKEEPER_TRUSTED_PROXIES": "192.0.2.1"}
    with Node(town[0] | narrow) as running:
        yield running


async def in_debt(town: tuple[dict[str, str], Customers], customer: Customer) -> None:
    connection = await asyncpg.connect(
        town[0]["TOLLKEEPER_DATABASE_URL"], server_settings={"search_path": "tollkeeper"}
    )
    try:
        await connection.execute("update account_books set debt = 1 where account_id = $1", customer.account_id)
    finally:
        await connection.close()


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
@pytest.mark.parametrize(("path", "kind"), [(PATH, JSON), (UPLOADS, FORM)], ids=["json", "upload"])
async def test_a_large_body_of_an_account_that_cannot_pay_is_refused_before_its_end(
    town: tuple[dict[str, str], Customers], node: Node, townsfolk: Customers, path: str, kind: str, announced: bool
) -> None:
    poor, owing = await townsfolk.a_customer(usd=None), await townsfolk.a_customer()
    await in_debt(town, owing)
    for customer in (poor, owing):
        with unfinished(node, customer.key, 3 * MB, path=path, kind=kind, announced=announced) as connection:
            assert status_of(connection) == 403


async def test_unfinished_bodies_of_one_account_take_no_room_from_others(
    narrow_node: Node, simulator: Simulator, townsfolk: Customers
) -> None:
    attacker, bystander = await townsfolk.a_customer(), await townsfolk.a_customer()
    model = await townsfolk.a_model()
    wait_until(lambda: chat(narrow_node, bystander.key, model, "Hi").status == 200, within_seconds=30)
    with ExitStack() as stack:
        held = [stack.enter_context(unfinished(narrow_node, attacker.key, 16 * MB)) for _ in range(6)]
        # Three fill more than half; the others are told to wait.
        wait_until(lambda: any(map(_is_answered, held)), within_seconds=30)
        refused = [connection for connection in held if _is_answered(connection)]
        assert {status_of(connection) for connection in refused} == {503}
        assert chat(narrow_node, bystander.key, model, "Hi").status == 200
        large = chat(narrow_node, bystander.key, model, "word " * 100_000)
        assert large.status == 200, large.text
        assert chat(narrow_node, attacker.key, model, "Hi").status == 200


def _is_answered(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


async def test_a_body_that_stops_coming_is_given_up_long_before_its_time(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    with unfinished(node, customer.key, 100_000) as connection:
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"slow_body" in answer
    assert ask(node, "/v1/models", key=customer.key).status == 200
