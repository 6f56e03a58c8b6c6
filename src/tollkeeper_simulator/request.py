"""Requests out of bytes: head, then a body with a length or in chunks. No IO: bytes go in, requests come out."""

from urllib.parse import parse_qsl

import msgspec

HEAD_BYTES_MOST = 64 * 1024
BODY_BYTES_MOST = 32 * 1024 * 1024


class Request(msgspec.Struct):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    query: str = ""

    @property
    def keeps_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"

    def parameter(self, name: str) -> str | None:
        """The first value of a parameter in the query."""
        return next((value for key, value in parse_qsl(self.query, keep_blank_values=True) if key == name), None)


class BadRequest(ValueError):
    """What came is not HTTP, or is too large; the connection cannot be used any further."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RequestReader:
    """Collects the bytes of a connection and gives out one request after another."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._request: Request | None = None
        self._chunks = bytearray()

    def feed(self, data: bytes) -> None:
        self._received += data

    def next(self) -> Request | None:
        """The next request, or None until more bytes have come. Raise BadRequest."""
        if self._request is None:
            self._request = self._read_head()
        if self._request is None:
            return None
        chunked = "chunked" in self._request.headers.get("transfer-encoding", "").lower()
        body = self._read_chunks() if chunked else self._read_length(self._request)
        if body is None:
            return None
        complete, self._request = self._request, None
        complete.body = body
        return complete

    def _read_head(self) -> Request | None:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > HEAD_BYTES_MOST:
                raise BadRequest(431, "The headers are too large.")
            return None
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        del self._received[: end + 4]
        words = first.split(" ")
        if len(words) != 3:
            raise BadRequest(400, "This is not HTTP.")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        path, _, query = words[1].partition("?")
        return Request(words[0], path, headers, query=query)

    def _read_length(self, request: Request) -> bytes | None:
        length = _number(request.headers.get("content-length", "0"), 10)
        if len(self._received) < length:
            return None
        return self._take(length)

    def _read_chunks(self) -> bytes | None:
        while (end := self._received.find(b"\r\n")) >= 0:
            size = _number(self._received[:end].partition(b";")[0].decode("latin-1"), 16)
            if len(self._chunks) + size > BODY_BYTES_MOST:
                raise BadRequest(413, "The body is too large.")
            if len(self._received) < end + 2 + size + 2:
                return None
            self._take(end + 2)
            self._chunks += self._take(size)
            self._take(2)
            if size == 0:
                body, self._chunks = bytes(self._chunks), bytearray()
                return body
        return None

    def _take(self, count: int) -> bytes:
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken


def _number(text: str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError:
        raise BadRequest(400, "A length is not a number.") from None
    if not 0 <= number <= BODY_BYTES_MOST:
        raise BadRequest(413, "The body is too large.")
    return number
