"""Chat calls for tests: asked over real sockets, their events read, their receipts looked up."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from tests.client import Answer, ask
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until_async

Headers = Mapping[str, str] | None
PATH = "/v1/chat/completions"
# The last piece of an answer whose length nobody knew. Its connection stays open: who reads on waits for nothing.
END_OF_CHUNKS = b"\r\n0\r\n\r\n"


def order(model: str, text: str, **fields: object) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def chat(node: Node, key: str, model: str, text: str, *, headers: Headers = None, **fields: object) -> Answer:
    return ask(node, PATH, method="POST", key=key, headers=headers, body=order(model, text, **fields))


def events(text: bytes) -> list[str]:
    """The data of every event, in order."""
    blocks = text.decode().replace("\r\n", "\n").split("\n\n")
    return [block.removeprefix("data: ") for block in blocks if block.startswith("data: ")]


def chunks(text: bytes) -> list[dict[str, Any]]:
    """Every event but the last, which must say that it is the last."""
    *before, last = events(text)
    assert last == "[DONE]"
    return [json.loads(data) for data in before]


def words(text: bytes) -> str:
    found = (chunk["choices"][0]["delta"].get("content") for chunk in chunks(text) if chunk.get("choices"))
    return "".join(part for part in found if part)


def error_in(text: bytes) -> dict[str, Any]:
    """The error that the stream ends with."""
    error: dict[str, Any] = chunks(text)[-1]["error"]
    return error


async def receipt_of(receipts: SqlReceipts, answer: Answer | str) -> Receipt:
    """A call's receipt, once it is settled."""
    request_id = answer if isinstance(answer, str) else answer.headers["x-request-id"]
    found: list[Receipt] = []

    async def settled() -> bool:
        receipt = await receipts.find(UUID(request_id), account_id=None)
        found.extend([receipt] if isinstance(receipt, Receipt) else [])
        return bool(found)

    await wait_until_async(settled, within_seconds=30)
    return found[0]


@contextmanager
def listening(
    node: Node, key: str, body: Mapping[str, object], host: str = "localhost", *, path: str = PATH
) -> Iterator[socket.socket]:
    """A call sent over a raw socket, whose answer is read as far as the test likes. Leaving the block hangs up."""
    sent = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", node.port), timeout=30) as connection:
        connection.sendall(head.encode() + sent)
        yield connection


def request_id_in(answer: bytes) -> str:
    """Of an answer as it came over the socket."""
    return answer.decode("latin-1").lower().partition("x-request-id: ")[2].split()[0]


def read_until(connection: socket.socket, wanted: bytes) -> bytes:
    """What came, as soon as `wanted` is in it. An answer that ends without it fails the test, and is shown."""
    received = b""
    while wanted not in received:
        piece = connection.recv(65_536)
        assert piece, received
        received += piece
        assert wanted in received or not received.endswith(END_OF_CHUNKS), received
    return received
