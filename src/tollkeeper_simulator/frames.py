"""HTTP/1.1 as bytes: heads and chunks. Nothing here checks that they are right; being wrong is a purpose."""

from collections.abc import Iterable
from http import HTTPStatus

LAST_CHUNK = b"0\r\n\r\n"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


def head(status: int, own_fields: bytes, *fields: bytes) -> bytes:
    """Status line and headers, the vendor's own first, the empty line included."""
    start = b"HTTP/1.1 %d %s\r\n" % (status, _REASONS.get(status, "Unknown").encode())
    return start + b"\r\n".join((own_fields, *fields)) + b"\r\n\r\n"


def json_head(status: int, own_fields: bytes, length: int, *fields: bytes) -> bytes:
    return head(status, own_fields, b"content-type: application/json", b"content-length: %d" % length, *fields)


def stream_head(own_fields: bytes, *fields: bytes) -> bytes:
    kind = b"content-type: text/event-stream; charset=utf-8"
    return head(200, own_fields, kind, b"cache-control: no-cache", b"transfer-encoding: chunked", *fields)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunks(parts: Iterable[bytes]) -> bytes:
    return b"".join([b"%x\r\n%b\r\n" % (len(data), data) for data in parts])
