"""ASGI's messages: the only file of the gateway that knows what they look like.

The rest of the edge makes and reads them by these functions. None of them waits: what is made is sent, and what is read
was received, by whoever has the exchange. (The console leaves them to Starlette; `console/counting` reads one field.)
"""

from collections.abc import MutableMapping, Sequence
from typing import Any

AsgiMessage = MutableMapping[str, Any]

LIFESPAN_STARTED: AsgiMessage = {"type": "lifespan.startup.complete"}
LIFESPAN_ENDED: AsgiMessage = {"type": "lifespan.shutdown.complete"}


def response_start(status: int, headers: Sequence[tuple[bytes, bytes]]) -> AsgiMessage:
    return {"type": "http.response.start", "status": status, "headers": headers}


def is_response_start(sent: AsgiMessage) -> bool:
    return bool(sent["type"] == "http.response.start")


def with_header(start: AsgiMessage, header: tuple[bytes, bytes]) -> AsgiMessage:
    """The beginning of a response, with one header more."""
    return response_start(start["status"], [*start["headers"], header])


def response_body(piece: bytes, *, last: bool) -> AsgiMessage:
    return {"type": "http.response.body", "body": piece, "more_body": not last}


def is_disconnect(received: AsgiMessage) -> bool:
    """Whether the client has hung up."""
    return bool(received["type"] == "http.disconnect")


def body_piece(received: AsgiMessage) -> bytes:
    """What of the request's body came with a message."""
    piece: bytes = received.get("body", b"")
    return piece


def is_last(received: AsgiMessage) -> bool:
    """Whether no more of the request's body will come."""
    return not received.get("more_body", False)
