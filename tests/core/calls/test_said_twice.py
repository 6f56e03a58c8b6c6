import json

import pytest

from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.said_twice import text_said_twice
from tollkeeper.core.calls.tokens import count
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.money.prices import Usage

WORDS = "The keeper counts every token, and never twice."
CHOICES = b'"choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"stop"}]'
FALSE = b'"usage":{"prompt_tokens":-1,"completion_tokens":-1}'


def whole(body: bytes) -> WholeMeter:
    meter = WholeMeter()
    meter.read(body)
    return meter


@pytest.mark.parametrize("name", [b"usage", rb"us\u0061ge"], ids=["plain", "in escapes"])
def test_words_in_a_report_that_is_followed_by_another_are_counted(name: bytes) -> None:
    meter = whole(b'{"%b":{"note":"%b"},%b,%b}' % (name, WORDS.encode(), CHOICES, FALSE))
    assert (meter.reported, meter.output_tokens) == (Usage(-1, -1), count(WORDS))
    assert meter.guessed_tokens == count(WORDS)


@pytest.mark.parametrize("usage", [b"null", b'{"prompt_tokens":-1,"completion_tokens":-1}'], ids=["null", "false"])
def test_words_in_a_chunks_report_that_is_followed_by_another_are_counted(usage: bytes) -> None:
    chunk = b'{"choices":[{"index":0,"delta":{}}],"usage":{"note":"%b"},"usage":%b}' % (WORDS.encode(), usage)
    meter = Meter()
    meter.read_event(chunk)
    assert meter.output_tokens == count(WORDS)


def test_a_message_that_says_something_before_it_says_nothing_is_counted() -> None:
    message = b'{"role":"assistant","content":"%b","content":""}' % WORDS.encode()
    body = b'{"choices":[{"index":0,"message":%b,"finish_reason":"stop"}]}' % message
    assert whole(body).output_tokens == count(WORDS)
    assert whole(b'{"choices":[{"message":%b}],%b}' % (message, CHOICES)).output_tokens == count(WORDS)


def test_of_a_report_that_stands_twice_the_last_is_kept() -> None:
    meter = whole(b'{%b,%b,"usage":{"prompt_tokens":10,"completion_tokens":5}}' % (CHOICES, FALSE))
    assert meter.reported == Usage(10, 5)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(json.dumps({"a": '"quoted"', "b": [{"a": 1}, {"a": 1}]}).encode(), id="plain"),
        pytest.param(rb'{"a":"\u0022 \\u0022 \" \\","b":"\u0061"}', id="escapes"),
        pytest.param(b'{"a":"\xff","b":NaN,"c":"\\ud800"}', id="for a lenient reader"),
        pytest.param(b"{nonsense", id="not JSON"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_where_no_member_stands_twice_nothing_is_said_twice(body: bytes) -> None:
    assert text_said_twice(body) == ""


def test_what_only_a_lenient_reader_reads_hides_nothing() -> None:
    said = b'{"a":"%b","b":"\xff\\ud800","a":NaN}' % WORDS.encode()
    assert text_said_twice(said) == WORDS
    assert text_said_twice(b'{"a":["%b",NaN],"a":0}' % WORDS.encode()).find(WORDS) >= 0


def test_a_message_in_an_answer_of_many_bytes_is_not_looked_through() -> None:
    assert text_said_twice(b'{"a":"%b","a":0,"b":"%b"}' % (WORDS.encode(), b"x" * 2 * 1024 * 1024)) == ""


def test_what_is_counted_as_it_was_written_is_not_counted_for_what_it_says_twice() -> None:
    """As what is no UTF-8 is: nothing counts for more than it took to send."""
    number = b"123456789012345678901234567890"
    chunk = b'{"choices":[{"delta":{"role":"\xed\xa0\x80","a":%b,"b":"\xed\xa0\x80","a":%b}}]}' % (number, number)
    meter = Meter()
    meter.read_event(chunk)
    assert 2 * len(number) < meter.characters <= len(chunk)
    read_whole = whole(chunk)
    assert read_whole.output_tokens > len(number) // 3
    assert read_whole.characters <= len(chunk)
