import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollkeeper.core.calls.sse import DONE, EVENT_BYTES_MOST, KEEP_ALIVE, EventSplitter, EventTooLong, data_of, event

PIECE = b"x" * 65_536
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

lines = st.lists(
    st.sampled_from([b'data: {"a":1}', b"data:x", b"data: ", b": comment", b"event: ping", b"data: [DONE]"])
    | st.binary(max_size=12).map(lambda line: b"data: " + line.replace(b"\r", b"").replace(b"\n", b"")),
    min_size=1,
    max_size=4,
)
line_ends = st.sampled_from([b"\n", b"\r\n"])
streams = st.builds(
    lambda events, line_end: [line_end.join(event) + 2 * line_end for event in events],
    st.lists(lines, max_size=6),
    line_ends,
)
soups = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"a", b"data: x"])).map(b"".join)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(stream), *(place % (len(stream) + 1) for place in places)})
    return [stream[begin:end] for begin, end in pairwise(ends)]


def split(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    splitter = EventSplitter()
    events = [event for piece in pieces for event in splitter.feed(piece)]
    return events, splitter.rest


places_to_cut = st.lists(st.integers(0, 10_000), max_size=12)


@settings(max_examples=300, deadline=None)
@given(streams, st.sampled_from([b"", b"data: un", b"\r", b"data: [DONE]\r\n"]), places_to_cut)
def test_however_a_stream_is_cut_its_events_come_out_whole(events: list[bytes], rest: bytes, places: list[int]) -> None:
    assert split(cut(b"".join(events) + rest, places)) == (events, rest)


@settings(max_examples=300, deadline=None)
@given(soups | st.binary(max_size=40), places_to_cut)
def test_however_any_bytes_are_cut_they_come_out_the_same_and_none_is_lost(stream: bytes, places: list[int]) -> None:
    events, rest = split(cut(stream, places))
    assert (events, rest) == split([stream])
    assert (events, rest) == split([stream[place : place + 1] for place in range(len(stream))])
    assert b"".join(events) + rest == stream.removeprefix(BYTE_ORDER_MARK)


@pytest.mark.parametrize(
    ("stream", "events", "rest"),
    [
        pytest.param(b"", [], b"", id="nothing"),
        pytest.param(b"data: a\n\ndata: b\n\n", [b"data: a\n\n", b"data: b\n\n"], b"", id="two events"),
        pytest.param(
            b"data: a\r\n\r\ndata: b\r\n\r\n", [b"data: a\r\n\r\n", b"data: b\r\n\r\n"], b"", id="two with CRLF"
        ),
        pytest.param(b"data: a\n\r\ndata: b\r\n\n", [b"data: a\n\r\n", b"data: b\r\n\n"], b"", id="line ends mixed"),
        pytest.param(b"data: a\ndata: b\n\n", [b"data: a\ndata: b\n\n"], b"", id="one of two lines"),
        pytest.param(b"data: a\n\ndata: b", [b"data: a\n\n"], b"data: b", id="rest without a line end"),
        pytest.param(b"data: a\n\ndata: b\n", [b"data: a\n\n"], b"data: b\n", id="rest without a blank line"),
        pytest.param(KEEP_ALIVE + DONE, [KEEP_ALIVE, DONE], b"", id="a comment and the end"),
    ],
)
def test_an_event_ends_at_its_blank_line(stream: bytes, events: list[bytes], rest: bytes) -> None:
    assert split([stream]) == (events, rest)


@pytest.mark.parametrize("rest", [b"data: a", b"data: a\n", b"data: a\r\n"], ids=["cut", "one LF", "one CRLF"])
def test_a_blank_line_ends_the_event_that_was_left(rest: bytes) -> None:
    splitter = EventSplitter()
    assert splitter.feed(rest) == []
    (last,) = splitter.feed(b"\n\n")[:1]
    assert last.startswith(rest)


def feed_without_end(splitter: EventSplitter) -> None:
    for _ in range(10 * EVENT_BYTES_MOST // len(PIECE)):
        splitter.feed(PIECE)


def test_an_event_without_end_is_given_up_and_memory_stays_bounded() -> None:
    splitter = EventSplitter()
    tracemalloc.start()
    try:
        with pytest.raises(EventTooLong):
            feed_without_end(splitter)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 2.5 * EVENT_BYTES_MOST


def test_an_event_of_the_most_bytes_is_waited_for() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"x" * EVENT_BYTES_MOST) == []
    assert splitter.rest == b"x" * EVENT_BYTES_MOST


@pytest.mark.parametrize(
    "pieces", [[b"x" * (EVENT_BYTES_MOST + 1)], [b"data: a\n\n" + b"x" * EVENT_BYTES_MOST, b"x"]], ids=["one", "two"]
)
def test_an_event_is_too_long_from_its_first_byte_too_many(pieces: list[bytes]) -> None:
    splitter = EventSplitter()
    for piece in pieces[:-1]:
        splitter.feed(piece)
    with pytest.raises(EventTooLong):
        splitter.feed(pieces[-1])


def test_many_events_are_not_too_long_together() -> None:
    many = 2 * EVENT_BYTES_MOST // len(PIECE)
    assert EventSplitter().feed(event(PIECE) * many) == [event(PIECE)] * many


def test_events_that_came_out_leave_nothing_behind() -> None:
    splitter, half = EventSplitter(), event(b"x" * 1_000)[:-2]
    tracemalloc.start()
    try:
        for _ in range(2_000):
            splitter.feed(half)
            splitter.feed(b"\n\n" + half)
            splitter.feed(b"\n\n")
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert splitter.rest == b""
    assert most_bytes < 50_000


@pytest.mark.parametrize(
    ("written", "data"),
    [
        pytest.param(b"data: x\n\n", b"x", id="one line"),
        pytest.param(b"data:x\n\n", b"x", id="without a space"),
        pytest.param(b"data:  x \n\n", b" x ", id="only the first space is not data"),
        pytest.param(b"data:  x \r\n\r\n", b" x ", id="only the first space is not data, CRLF"),
        pytest.param(b"data: x\r\n\r\n", b"x", id="CRLF"),
        pytest.param(b"data: x\n\r\n", b"x", id="LF, then CRLF"),
        pytest.param(b"data: [DONE]\r\n\n", b"[DONE]", id="CRLF, then LF"),
        pytest.param(b"data: a\ndata: b\n\n", b"a\nb", id="two lines"),
        pytest.param(b"data: a\r\ndata:b\r\n\r\n", b"a\nb", id="two lines, CRLF"),
        pytest.param(b"event: delta\nid: 7\ndata: x\nretry: 5\n\n", b"x", id="other fields around"),
        pytest.param(b": hello\ndata: x\n\n", b"x", id="comment before"),
        pytest.param(b"data: x\n: hello\n\n", b"x", id="comment behind"),
        pytest.param(b"data: data: x\n\n", b"data: x", id="data that looks like a field"),
        pytest.param(b"\ndata: x\n\n", b"x", id="blank line too many before"),
        pytest.param(b"data:\n\n", b"", id="empty"),
        pytest.param(b"data: \n\n", b"", id="empty, with its space"),
        pytest.param(KEEP_ALIVE, None, id="comment"),
        pytest.param(b"event: ping\n\n", None, id="no data"),
        pytest.param(b"database: x\n\n", None, id="another field"),
        pytest.param(b"\n\n", None, id="blank"),
        pytest.param(b"", None, id="nothing"),
        pytest.param(DONE, b"[DONE]", id="the end"),
    ],
)
def test_the_data_of_an_event_is_what_its_data_lines_say(written: bytes, data: bytes | None) -> None:
    assert data_of(written) == data


@settings(deadline=None)
@given(st.binary().filter(lambda data: not set(data) & set(b"\r\n")))
def test_data_comes_back_out_of_the_event_made_for_it(data: bytes) -> None:
    assert split([event(data)]) == ([event(data)], b"")
    assert data_of(event(data)) == data


@pytest.mark.parametrize("at", range(5))
def test_a_byte_order_mark_at_the_beginning_costs_no_event(at: int) -> None:
    stream = BYTE_ORDER_MARK + b"data: a\n\ndata: b\n\n"
    assert split([stream[:at], stream[at:]]) == ([b"data: a\n\n", b"data: b\n\n"], b"")


@pytest.mark.parametrize("data", [b"x", b"one\ntwo", b"", b"[DONE]"])
def test_an_event_written_anew_has_the_same_data(data: bytes) -> None:
    assert data_of(event(data)) == data


@pytest.mark.parametrize("line", [b"\r", b"\nx", b"xdata:\r"])
def test_an_event_of_very_many_lines_needs_no_more_room_than_its_data(line: bytes) -> None:
    written = line * (1024 * 1024 // len(line)) + b"\ndata: x\n\n"
    tracemalloc.start()
    try:
        assert data_of(written) == b"x"
        assert tracemalloc.get_traced_memory()[1] < 256 * 1024
    finally:
        tracemalloc.stop()
