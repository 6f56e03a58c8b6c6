"""The meter of whole answers: the report at once, the words only when somebody asks for them."""

import json

import pytest

from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.tokens import count
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.money.prices import Usage

WORDS = "The keeper counts every token, and never twice."
UNHEARD = "a river and its banks"
REPORT = {"prompt_tokens": 10, "completion_tokens": 5}


def an_answer(content: object, **more: object) -> bytes:
    message = {"role": "assistant", "content": content}
    return json.dumps({"choices": [{"index": 0, "message": message}], **more}).encode()


def a_meter(body: bytes, untranslated: LeftOut | None = None) -> WholeMeter:
    meter = WholeMeter()
    meter.read(body)
    if untranslated is not None:
        meter.note_untranslated(untranslated)
    return meter


def left_out(text: str) -> LeftOut:
    unheard = LeftOut()
    unheard.note_whole(json.dumps({"text": "told", "murmur": text}).encode(), b'{"content":"told"}', frozenset())
    return unheard


def test_a_report_is_read_and_nothing_is_counted() -> None:
    meter = a_meter(an_answer(WORDS, usage=REPORT))
    assert (meter.reported, meter.so_far, meter.characters) == (Usage(10, 5), None, 0)


def test_words_are_counted_once_somebody_asks() -> None:
    meter = a_meter(an_answer(WORDS))
    assert [meter.output_tokens, meter.output_tokens] == [count(WORDS)] * 2
    assert (meter.guessed_tokens, meter.characters) == (0, len(WORDS))


def test_what_translation_left_out_is_known_before_anything_is_counted() -> None:
    """The words of an answer whose caller never had one are no use to anybody, whoever translated it."""
    unheard = left_out(UNHEARD)
    meter = a_meter(an_answer(WORDS, usage=REPORT), unheard)
    assert meter.characters == unheard.characters
    assert (meter.guessed_tokens, meter.output_tokens) == (count(UNHEARD), count(UNHEARD) + count(WORDS))
    assert meter.characters == unheard.characters + len(WORDS)


def test_what_is_left_out_counts_the_same_when_it_is_known_last() -> None:
    before, after = a_meter(an_answer(WORDS), left_out(UNHEARD)), a_meter(an_answer(WORDS))
    assert after.output_tokens == count(WORDS)
    after.note_untranslated(left_out(UNHEARD))
    assert (after.output_tokens, after.guessed_tokens) == (before.output_tokens, before.guessed_tokens)
    assert after.characters == before.characters


def test_where_nothing_was_left_out_nothing_has_come_until_it_is_counted() -> None:
    assert a_meter(an_answer(WORDS), LeftOut()).characters == 0


def test_what_could_not_be_read_is_estimated() -> None:
    meter = WholeMeter()
    meter.estimate(4_000)
    assert (meter.reported, meter.output_tokens, meter.characters) == (None, 1_000, 4_000)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"choices":null}', b'{"choices":[],"error":{"message":"no"}}'])
def test_what_is_no_answer_is_not_taken_for_one(body: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        WholeMeter().read(body)
