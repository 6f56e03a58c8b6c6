"""Answers of providers on a connection: however the bytes are cut, the same answer, and none that nobody asked for."""

import asyncio
from typing import Any, cast

from tollkeeper.providers.http_client.connection import AHEAD_BYTES_MOST, FRAMING_BYTES_MOST, READ_BYTES, Connection
from tools.fuzz.pieces import PIECE_BYTES, as_read, ways_to_cut
from tools.fuzz.target import Grown, Target

# A loop that never runs: a connection asks it for nothing but futures.
LOOP = asyncio.new_event_loop()
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


class Wire:
    """A transport that leads nowhere."""

    def __init__(self) -> None:
        self.is_paused = False
        self.is_aborted = False

    def write(self, _: bytes) -> None: ...

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


class Heard:
    """What a caller would have of an answer, and whether another would be given the connection."""

    def __init__(self, pieces: list[bytes]) -> None:
        wire = Wire()
        buffer = memoryview(bytearray(READ_BYTES))
        connection = Connection(("provider.test", 443, True), _nobody, LOOP, buffer)
        connection.connection_made(cast(Any, wire))
        connection.ask(b"POST / HTTP/1.1\r\n\r\n", b"")
        self.body = b""
        for read in [piece[at : at + READ_BYTES] for piece in pieces for at in range(0, len(piece), READ_BYTES)]:
            if wire.is_aborted:
                break
            buffer[: len(read)] = read
            connection.buffer_updated(len(read))
            self.body += connection.take()
            assert not wire.is_paused or wire.is_aborted
        self.can_serve_another = connection.can_serve_another
        connection.connection_lost(None)
        self.status = connection.status
        self.headers = connection.headers
        self.ending = connection.is_over, connection.failure

    def as_tuple(self) -> tuple[object, ...]:
        return self.status, self.body, self.ending, self.can_serve_another


def _nobody(_: Connection) -> None:
    """Nobody is told that it is closed."""


def check(data: bytes) -> None:
    heard = Heard([data])
    is_over, failure = heard.ending
    assert is_over != (failure is not None)
    assert heard.status == 0 or 200 <= heard.status <= 999
    assert heard.status or not heard.body
    assert len(heard.body) <= len(data)
    assert not (heard.can_serve_another and failure)
    for value in heard.headers.values():
        assert not set(value) & set(b"\r\n\0")
    for pieces in ways_to_cut(data):
        cut = Heard(pieces)
        # A head that is too long is found out sooner where it comes in pieces.
        assert cut.as_tuple() == heard.as_tuple() or (len(data) > FRAMING_BYTES_MOST and cut.ending[1])


def work(data: bytes) -> None:
    Heard(as_read(data))


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        OK + b"content-length: 2\r\nretry-after: 7\r\n\r\nhi",
        CHUNKED + b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n",
        OK + b"\r\nas long as the connection",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\n" + OK + b"content-length: 0\r\n\r\n",
        OK + b"content-length: 2\r\n\r\nhi" + OK + b"content-length: 5\r\n\r\nnever",
        b"HTTP/1.1 204 None\r\ncontent-length: 9\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhimore",
        b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nbytes",
        OK + b"transfer-encoding: gzip\r\n\r\nto the end",
        b"HTTP/1.1 199 Soon\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + OK + b"\r\nhi",
        b"HTTP/1.1 059 What\r\n\r\nno such status",
    ),
    words=(
        *(b"\r\n", b"\r\n\r\n", b"HTTP/1.1 ", b"HTTP/1.0 ", b"content-length: ", b"transfer-encoding: ", b"chunked"),
        *(
            b"connection: close",
            b"connection: keep-alive",
            b"0\r\n\r\n",
            b"ffffffff",
            b"100",
            b"204",
            b"304",
            b"gzip, ",
        ),
    ),
    grown=(
        Grown(b"a", OK + b"x: "),
        Grown(b"a: b\r\n", OK),
        Grown(b"a", OK),
        Grown(b"HTTP/1.1 100 Go\r\n\r\n"),
        Grown(b"1\r\na\r\n", CHUNKED),
        Grown(b"1;aaaaaaa\r\na\r\n", CHUNKED),
        Grown(b"a", CHUNKED + b"1;"),
        Grown(b"a", CHUNKED + b"0\r\nx: "),
        Grown(b"a: b\r\n", CHUNKED + b"0\r\n"),
        Grown(b"0", CHUNKED),
        Grown(b"a", OK + b"\r\n"),
        Grown(OK + b"content-length: 0\r\n\r\n"),
    ),
    size_bytes_most=4 * max(AHEAD_BYTES_MOST, PIECE_BYTES),
)
