"""The reader of event streams: however the bytes are cut, the same events, and none of them twice or in part."""

import codecs

from tollkeeper.core.calls.sse import EVENT_BYTES_MOST, EventSplitter, EventTooLong, data_of
from tools.fuzz.pieces import PIECE_BYTES, as_read, ways_to_cut
from tools.fuzz.target import Grown, Target


def check(data: bytes) -> None:
    whole, rest = _events([data])
    # A byte-order mark at the beginning is none of it.
    assert b"".join(whole) + rest == data.removeprefix(codecs.BOM_UTF8)
    assert all(event.endswith((b"\n\n", b"\n\r\n")) for event in whole)
    for pieces in ways_to_cut(data):
        assert _events(pieces) == (whole, rest)
    for event in whole:
        # Of an event of one line, a CR in the middle is part of it: so nearly all are read at once.
        if b"\r" not in event.replace(b"\r\n", b""):
            assert data_of(event) == _data_by_the_standard(event)
    assert data_of(b":\n" + data) == _data_by_the_standard(data)


def _events(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    splitter = EventSplitter()
    return [event for piece in pieces for event in splitter.feed(piece)], splitter.rest


def _data_by_the_standard(event: bytes) -> bytes | None:
    lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def work(data: bytes) -> None:
    """A piece of whatever events, as the network brings it; and all of the bytes as one event, in pieces."""
    for event in EventSplitter().feed(data[: PIECE_BYTES // 4]):
        data_of(event)
    splitter = EventSplitter()
    try:
        for piece in as_read(data.replace(b"\n", b" ") + b"\n\n"):
            for event in splitter.feed(piece):
                data_of(event)
    except EventTooLong:
        return


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n',
        b": keep-alive\n\nevent: message\r\nid: 7\r\ndata: one\r\ndata:two\r\n\r\n",
        b"data\n\ndata:\n\ndata:  x\n\n\n\nretry: 5\ndata: last",
        codecs.BOM_UTF8 + b"data: marked\n\n",
    ),
    words=(b"data: ", b"data:", b"\n\n", b"\r\n\r\n", b"[DONE]", b"event: ", b"\n\r\n", b"\r\n\n", codecs.BOM_UTF8),
    grown=(
        Grown(b"x", b"data: ", b"\n\n"),
        Grown(b"\r"),
        Grown(b"\n"),
        Grown(b"\r\n"),
        Grown(b"\n\r"),
        Grown(b"data:\n"),
        Grown(b"data: x\n\n"),
        Grown(b"\n\rx"),
    ),
    size_bytes_most=EVENT_BYTES_MOST,
)
