"""Requests are read by the rules, however they arrive."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attacks.smuggling import Case, cases
from tollkeeper.server.requests import HEAD_BYTES_MOST, STEPS_AT_ONCE, RequestReader
from tollkeeper.server.rules import Malformed

HOST = b"Host: localhost:8080\r\n"
GET = b"GET /v1/models?limit=1 HTTP/1.1\r\n" + HOST + b"X-One: \xff \r\n\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhe\nlo"
EMPTY = b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: 0\r\n\r\n"
CHUNKS = (
    b"POST /v1/audio/speech HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n"
    + HOST
    + b"\r\n5\r\nhe\nlo\r\n0A\r\n0123\r\n6789\r\n0\r\n\r\n"
)
GOOD = GET + POST + CHUNKS + EMPTY + GET
READ = [
    ("GET", b"/v1/models", b"limit=1", b""),
    ("POST", b"/v1/chat/completions", b"", b"he\nlo"),
    ("POST", b"/v1/audio/speech", b"", b"he\nlo0123\r\n6789"),
    ("POST", b"/v1/chat/completions", b"", b""),
    ("GET", b"/v1/models", b"limit=1", b""),
]
# A balancer that knows no host may ask whether we are well; the front refuses that.
ALLOWED = {"no Host on HTTP/1.0"}

Read = list[tuple[str, bytes, bytes, bytes]]


def read(raw: bytes, cuts: list[int]) -> Read:
    """All requests in the bytes, which come in pieces."""
    reader, found = RequestReader(), list[tuple[str, bytes, bytes, bytes]]()
    edges = [0, *sorted(cuts), len(raw)]
    body = b""
    for start, end in itertools.pairwise(edges):
        reader.feed(raw[start:end])
        while True:
            if reader.is_whole:
                head = reader.head()
                if head is None:
                    break
                found.append((head.method, head.path, head.query, b""))
                body = b""
            before = reader.held_bytes
            body += reader.body() if not reader.is_whole else b""
            found[-1] = (*found[-1][:3], body)
            if not reader.is_whole and reader.held_bytes == before:
                break
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_what_is_ambiguous_is_malformed(case: Case) -> None:
    if case.name in ALLOWED:
        assert [request[1] for request in read(case.raw, [])] == [b"/v1/models"]
        return
    for cuts in ([], list(range(min(len(case.raw), 2_000)))):
        with pytest.raises(Malformed):
            read(case.raw, cuts)


@given(cuts=st.lists(st.integers(0, len(GOOD)), max_size=20))
def test_well_formed_requests_are_read_in_any_pieces(cuts: list[int]) -> None:
    assert read(GOOD, cuts) == READ


def test_names_are_in_lower_case_and_values_without_the_space_around_them() -> None:
    reader = RequestReader()
    reader.feed(GET)
    head = reader.head()
    assert head is not None
    assert head.headers == [(b"host", b"localhost:8080"), (b"x-one", b"\xff")]


@pytest.mark.parametrize(
    ("version", "said", "keeps"),
    [("1.1", "", True), ("1.1", "Close", False), ("1.0", "", False), ("1.0", "Keep-Alive", True)],
)
def test_a_connection_is_kept_as_its_version_has_it(version: str, said: str, keeps: bool) -> None:
    reader = RequestReader()
    more = f"Connection: {said}\r\n" if said else ""
    reader.feed(f"GET / HTTP/{version}\r\nHost: a\r\n{more}\r\n".encode())
    head = reader.head()
    assert head is not None
    assert head.keeps_alive is keeps


@pytest.mark.parametrize(
    ("head", "expects"),
    [
        ("POST / HTTP/1.1\r\nContent-Length: 5\r\n", True),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", True),
        ("POST / HTTP/1.1\r\nContent-Length: 0\r\n", False),
        ("GET / HTTP/1.1\r\n", False),
        ("POST / HTTP/1.0\r\nContent-Length: 5\r\n", False),
    ],
)
def test_a_word_before_the_body_is_expected_in_http_1_1_and_where_there_is_one(head: str, expects: bool) -> None:
    reader = RequestReader()
    reader.feed(f"{head}Host: a\r\nExpect: 100-continue\r\n\r\n".encode())
    found = reader.head()
    assert found is not None
    assert found.expects is expects


def test_http_1_0_may_come_without_any_header() -> None:
    """So do balancers ask whether we are well."""
    assert read(b"OPTIONS / HTTP/1.0\r\n\r\n", []) == [("OPTIONS", b"/", b"", b"")]
    with pytest.raises(Malformed):
        read(b"OPTIONS / HTTP/1.1\r\n\r\n", [])


def test_a_head_has_a_bound_whole_or_not() -> None:
    for end in (b"", b"\r\n\r\n"):
        reader = RequestReader()
        reader.feed(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * HEAD_BYTES_MOST + end)
        with pytest.raises(Malformed):
            reader.head()


def test_tiny_chunks_are_read_some_at_a_time() -> None:
    count = 10 * STEPS_AT_ONCE
    reader = RequestReader()
    reader.feed(CHUNKS.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" + b"1\r\nx\r\n" * count + b"0\r\n\r\n")
    reader.head()
    pieces = []
    while not reader.is_whole:
        pieces.append(reader.body())
    assert max(map(len, pieces)) <= STEPS_AT_ONCE
    assert b"".join(pieces) == b"x" * count


def test_nothing_is_kept_of_what_was_taken() -> None:
    reader = RequestReader()
    for raw in (GET, POST, CHUNKS):
        reader.feed(raw)
        assert reader.head() is not None
        reader.body()
        assert reader.is_whole
        assert not any(
            isinstance(kept, bytes) and kept for kept in (getattr(reader, each) for each in reader.__slots__)
        )
