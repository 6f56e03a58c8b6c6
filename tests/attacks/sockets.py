"""Requests of raw bytes, sent as far as anybody reads them."""

import select
import socket
from collections.abc import Iterable

from tests.client import Answer
from tools.node import Node

TIMEOUT_SECONDS = 60


def post(path: str, *fields: str) -> bytes:
    """The head of a request."""
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", *fields)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def send(node: Node, pieces: Iterable[bytes]) -> tuple[Answer, int]:
    """The answer, and how many bytes had been sent when it came."""
    sent = 0
    with socket.create_connection(("127.0.0.1", node.port), timeout=TIMEOUT_SECONDS) as connection:
        try:
            for piece in pieces:
                if select.select([connection], [], [], 0)[0]:
                    break
                connection.sendall(piece)
                sent += len(piece)
        except ConnectionError:
            # Whoever has heard enough hangs up; what was said before is still there to be read.
            pass
        return _read(connection), sent


def _read(connection: socket.socket) -> Answer:
    received = b""
    while b"\r\n\r\n" not in received or len(received) < _length(received):
        piece = connection.recv(65_536)
        if not piece:
            break
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Answer(int(status.split()[1]), headers, body)


def _length(received: bytes) -> int:
    head, _, _ = received.lower().partition(b"\r\n\r\n")
    _, _, rest = head.partition(b"content-length: ")
    return len(head) + 4 + int(rest.split(b"\r\n", 1)[0] or 0)
