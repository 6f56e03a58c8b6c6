"""Requests on a connection: however the bytes are cut, the same requests, and none that was hidden in another."""

from tollkeeper.server.requests import HEAD_BYTES_MOST, RequestReader
from tollkeeper.server.rules import FRAMING_NAMES, Malformed
from tools.fuzz.pieces import PIECE_BYTES, ways_to_cut
from tools.fuzz.target import Grown, Target

GET = b"GET /v1/models?limit=1 HTTP/1.1\r\nHost: localhost\r\nX-One: \xff\r\n\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /v1/audio/speech HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: a\r\n\r\n"

Found = tuple[str, bytes, bytes, bytes]


def found_in(pieces: list[bytes]) -> tuple[list[Found], bool]:
    """The requests whose heads are whole, and whether a rule was broken."""
    reader, found = RequestReader(), list[Found]()
    try:
        for piece in pieces:
            reader.feed(piece)
            while _goes_on(reader, found):
                pass
    except Malformed:
        return found, True
    return found, False


def _goes_on(reader: RequestReader, found: list[Found]) -> bool:
    before = reader.held_bytes
    if reader.is_whole:
        head = reader.head()
        if head is None:
            return False
        names = [name for name, _ in head.headers if name in FRAMING_NAMES]
        assert len(names) == len(set(names))
        assert not any(b"\n" in value or b"\r" in value or b"\0" in value for _, value in head.headers)
        found.append((head.method, head.path, head.query, b""))
    if not reader.is_whole:
        method, path, query, body = found.pop()
        try:
            body += reader.body()
        finally:
            found.append((method, path, query, body))
    return reader.held_bytes < before


def check(data: bytes) -> None:
    whole = found_in([data])
    for pieces in ways_to_cut(data):
        cut = found_in(pieces)
        # What comes of a body before a rule is broken depends on the cut; no request does.
        assert cut[1] == whole[1]
        assert [each[:3] for each in cut[0]] == [each[:3] for each in whole[0]]
        assert cut[1] or cut[0] == whole[0]


def work(data: bytes) -> None:
    found_in([data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)])


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        GET + POST,
        CHUNKED + b"5\r\nhello\r\n0A\r\n0123456789\r\n0\r\n\r\n" + GET,
        b"HEAD / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n" + GET,
        POST.replace(b"Content-Length: 5", b"Content-Length: 4\r\nContent-Length: 5"),
    ),
    words=(b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked", b"Host: ", b" HTTP/1.1"),
    grown=(
        Grown(b"1\r\nx\r\n", CHUNKED),
        Grown(b"x", b"GET / HTTP/1.1\r\nHost: a\r\nX: "),
        Grown(b"X: y\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n"),
        Grown(GET),
        Grown(b"x", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"),
    ),
    size_bytes_most=4 * HEAD_BYTES_MOST,
)
