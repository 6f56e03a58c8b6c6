"""Strict framing: nothing that two parsers could read in two ways passes, however it arrives."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attacks.smuggling import Case, cases
from tollkeeper.front.framing import HANG_UP, HEAD_BYTES_MOST, Framing

HOST = b"Host: localhost:8080\r\n"
GET = b"GET /v1/models?limit=1 HTTP/1.1\r\n" + HOST + b"X-One: \xff\r\n\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhe\nlo"
EMPTY = b"POST /v1/chat/completions HTTP/1.0\r\n" + HOST + b"Content-Length: 0\r\n\r\n"
CHUNKS = (
    b"POST /v1/audio/speech HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n"
    + HOST
    + b"\r\n5\r\nhe\nlo\r\n0A\r\n0123\r\n6789\r\n0\r\n\r\n"
)
GOOD = GET + POST + CHUNKS + EMPTY + GET
ADDED = b"X-Forwarded-For: 192.0.2.1\r\n"

odd = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def fed(raw: bytes, cuts: list[int], added: bytes = b"") -> tuple[bytes, bool]:
    framing = Framing(added)
    edges = [0, *sorted(cuts), len(raw)]
    passed = b"".join(framing.feed(raw[start:end]) for start, end in itertools.pairwise(edges))
    return passed, framing.is_broken


@odd
def test_what_is_ambiguous_is_not_passed_on(case: Case) -> None:
    passed, is_broken = fed(case.raw, [])
    assert is_broken
    assert b"GET /smuggled" not in passed


@odd
def test_it_is_the_same_byte_by_byte(case: Case) -> None:
    raw = case.raw[:2_000]
    assert fed(raw, list(range(len(raw)))) == fed(raw, [])


@given(cuts=st.lists(st.integers(0, len(GOOD)), max_size=20))
def test_well_formed_requests_pass_unchanged_in_any_pieces(cuts: list[int]) -> None:
    assert fed(GOOD, cuts) == (GOOD, False)


def test_a_header_is_added_at_the_end_of_each_head() -> None:
    passed, _ = fed(POST + GET, [], ADDED)
    assert passed.count(b"\r\n" + ADDED + b"\r\n") == 2
    assert passed.replace(ADDED, b"") == POST + GET


def test_nothing_passes_after_a_rule_was_broken() -> None:
    framing = Framing(b"")
    assert framing.feed(GET + b"GET / HTTP/1.1\nHost: a\r\n\r\n" + GET) == GET
    assert framing.is_broken
    assert framing.feed(GET) == b""


def test_half_a_head_is_held_back() -> None:
    framing = Framing(b"")
    assert framing.feed(GET[:20]) == b""
    assert framing.in_head
    assert framing.feed(GET[20:]) == GET
    assert not framing.in_head


def test_a_head_without_end_is_refused() -> None:
    framing = Framing(b"")
    framing.feed(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * HEAD_BYTES_MOST)
    assert framing.is_broken


def test_the_last_request_says_so_and_nothing_passes_behind_it() -> None:
    framing = Framing(ADDED)
    assert framing.feed(GET) == GET[:-2] + ADDED + b"\r\n"
    framing.next_is_last = True
    assert framing.feed(POST[:-2]) + framing.feed(POST[-2:] + GET) == POST[:-7] + ADDED + HANG_UP + POST[-7:]
    assert framing.feed(b"anything\n") == b""
    assert not framing.is_broken


def test_between_requests_is_who_is_whole_and_answered() -> None:
    framing = Framing(b"")
    assert framing.is_between
    for piece in (GET[:20], GET[20:]):
        framing.feed(piece)
        assert not framing.is_between
    assert list(framing.asked) == [False]
    framing.asked.clear()
    assert framing.is_between
    framing.feed(POST[:-2])
    framing.asked.clear()
    assert not framing.is_between
    framing.feed(POST[-2:] + b"HEAD" + GET[3:])
    assert list(framing.asked) == [True]
