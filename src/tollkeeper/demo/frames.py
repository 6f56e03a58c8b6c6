"""HTTP/1.1 as bytes: heads and chunks. Nothing here checks that they are right; being wrong is a purpose."""

from http import HTTPStatus

LAST_CHUNK = b"0\r\n\r\n"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


def head(status: int, request_id: bytes, *fields: bytes) -> bytes:
    """Status line and headers, the empty line included."""
    start = b"HTTP/1.1 %d %s\r\n" % (status, _REASONS.get(status, "Unknown").encode())
    own = (b"x-request-id: " + request_id, b"openai-version: 2020-10-01")
    return start + b"\r\n".join((*own, *fields)) + b"\r\n\r\n"


def json_head(status: int, request_id: bytes, length: int, *fields: bytes) -> bytes:
    return head(status, request_id, b"content-type: application/json", b"content-length: %d" % length, *fields)


def stream_head(request_id: bytes, *fields: bytes) -> bytes:
    kind = b"content-type: text/event-stream; charset=utf-8"
    return head(200, request_id, kind, b"cache-control: no-cache", b"transfer-encoding: chunked", *fields)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
