"""Answers that need no application, in the form of the gateway's own."""

import json


def refusal(status: str, kind: str, code: str, message: str) -> bytes:
    """A whole answer, after which the connection is closed."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}cache-control: no-store\r\nconnection: close\r\n\r\n".encode() + body


MALFORMED = refusal(
    "400 Bad Request",
    "invalid_request_error",
    "malformed_request",
    "The request is not well-formed HTTP/1.1, and the connection is closed. Nothing was charged. Correct it before "
    "sending it again.",
)
SLOW_HEAD = refusal(
    "408 Request Timeout",
    "invalid_request_error",
    "slow_head",
    "The head of the request did not arrive in time. Nothing was charged. Check the connection, then send it again.",
)
FAILED = refusal(
    "500 Internal Server Error",
    "server_error",
    "internal_error",
    "Something went wrong here. Try again; if it happens again, tell support.",
)
