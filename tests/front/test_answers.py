"""Where answers end: found in any pieces, and never too early."""

import itertools
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollkeeper.front.answers import HEAD_BYTES_MOST, AnswerFraming

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n0\r\n\r\nab"
EMPTY = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
CHUNKS = (
    b"HTTP/1.1 200 OK\r\nx: content-length: 3\r\nTransfer-Encoding: Chunked\r\n\r\n"
    # Content that looks like the end of an answer.
    b"5\r\n0\r\n\r\n\r\n0A\r\n0123\r\n6789\r\n0\r\n\r\n"
)
NONE = b"HTTP/1.1 204 No Content\r\n\r\n"
EARLY = b"HTTP/1.1 100 Continue\r\n\r\n"
HEAD_ALONE = b"HTTP/1.1 200 OK\r\ncontent-length: 700\r\n\r\n"
ALL = LENGTH + CHUNKS + EARLY + EMPTY + HEAD_ALONE + NONE + CHUNKS
ASKED = [False, False, False, True, False, False]
ENDS = list(
    itertools.accumulate(
        map(len, (LENGTH, CHUNKS, EARLY + EMPTY, HEAD_ALONE, NONE, CHUNKS)),
    )
)


def followed(raw: bytes, asked: list[bool]) -> int:
    """How many answers were over, fed byte by byte."""
    left = deque(asked)
    framing = AnswerFraming(left)
    for place in range(len(raw)):
        framing.feed(raw[place : place + 1])
    return len(asked) - len(left)


def test_each_answer_is_over_with_its_last_byte() -> None:
    left = deque(ASKED)
    framing = AnswerFraming(left)
    over_at = []
    for place in range(len(ALL)):
        before = len(left)
        framing.feed(ALL[place : place + 1])
        over_at += [place + 1] * (before - len(left))
    assert over_at == ENDS


@given(cuts=st.lists(st.integers(0, len(ALL)), max_size=20))
def test_answers_are_followed_in_any_pieces(cuts: list[int]) -> None:
    left = deque(ASKED)
    framing = AnswerFraming(left)
    fed = 0
    for start, end in itertools.pairwise([0, *sorted(cuts), len(ALL)]):
        framing.feed(ALL[start:end])
        fed = end
        assert len(ASKED) - len(left) == sum(1 for each in ENDS if each <= fed)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\n\r\nuntil it ends" + EMPTY,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n" + EMPTY,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk, and longer than its line" + EMPTY,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\ntrailer: 1\r\n\r\n" + EMPTY,
        b"HTTP/1.1 200 OK\r\ncontent-length: some\r\n\r\n" + EMPTY,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + EMPTY,
        b"nonsense\r\n\r\n" + EMPTY,
        b"x" * (HEAD_BYTES_MOST + 1) + b"\r\n\r\n",
    ],
    ids=["no length", "coding", "no chunk", "trailer", "no number", "101", "no status", "head without end"],
)
def test_what_cannot_be_followed_is_never_over(raw: bytes) -> None:
    assert followed(raw, [False, False]) == 0


def test_an_answer_to_nothing_is_passed_over() -> None:
    assert followed(EMPTY + LENGTH, []) == 0
