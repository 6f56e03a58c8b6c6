"""Chunks that are read by their form are read as if each was parsed."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tollkeeper.core.calls.answer_reading import read_chunk
from tollkeeper.core.calls.chunk_form import FORMS_MOST, WORDS_BYTES_MOST, ChunkForm, form_of
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.stream_event import Event

HEAD: dict[str, Any] = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def a_chunk(text: str, *, spaced: bool = False, escaped: bool = False, noise: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}
    whole = HEAD | {"choices": [choice]} | more | ({} if noise is None else {"obfuscation": noise})
    return json.dumps(whole, ensure_ascii=escaped, separators=None if spaced else (",", ":")).encode()


def learned(data: bytes) -> ChunkForm | None:
    return form_of(data, read_chunk(data))


def seen_by(meter: Meter) -> tuple[object, ...]:
    counts = (meter.characters, meter.output_tokens, meter.guessed_tokens, meter.reported, meter.so_far)
    return (*counts, meter.finished, meter.unsure, meter.label)


def both_read(events: list[bytes]) -> None:
    """With and without forms everything is the same, after each event."""
    quick, thorough = Meter(), Meter()
    thorough.chunk_form.looks_left = 0
    for event in events:
        assert quick.read_event(event) is thorough.read_event(event), event
        assert seen_by(quick) == seen_by(thorough), event


@pytest.mark.parametrize("spaced", [True, False])
@pytest.mark.parametrize("noise", [None, "aB3", ""])
def test_the_words_of_chunks_of_one_form_are_cut_out(spaced: bool, noise: str | None) -> None:
    form = learned(a_chunk("river", spaced=spaced, noise=None if noise is None else "xY"))
    assert form is not None
    for words in (" keeper", "", "ö, 水 and 🦊", "a" * 200):
        assert form.words_of(a_chunk(words, spaced=spaced, noise=noise)) == words


@pytest.mark.parametrize(
    "data",
    [
        a_chunk("a\nb"),
        a_chunk('say "so"'),
        a_chunk("back\\slash"),
        a_chunk("ö", escaped=True),
        a_chunk("x" * WORDS_BYTES_MOST),
        a_chunk("river", usage={"prompt_tokens": 1}),
        a_chunk("river", model="another"),
        a_chunk("river", noise="a\\u0022"),
        a_chunk("river", noise="words, not noise"),
        a_chunk("river").replace(b"river", b"\xff"),
        a_chunk("river").replace(b"river", b"a\x01b"),
        a_chunk("river").replace(b'"river"', b"null"),
        a_chunk("river") + b" ",
        b"",
    ],
)
def test_what_has_not_the_form_is_read_in_full(data: bytes) -> None:
    form = learned(a_chunk("river"))
    assert form is not None
    assert form.words_of(data) is None


@pytest.mark.parametrize(
    "data",
    [
        a_chunk(""),
        a_chunk("m"),
        a_chunk("content"),
        a_chunk("a\nb"),
        a_chunk("river", usage={"prompt_tokens": 1, "completion_tokens": 2}),
        a_chunk("river", x_remark="words"),
        a_chunk("river", choices=[]),
        a_chunk("river", choices=[{"index": 1, "delta": {"content": "river"}}]),
        a_chunk("river", choices=[{"index": 0, "delta": {"content": "river"}, "finish_reason": "stop"}]),
        a_chunk("river", choices=[{"index": 0, "delta": {"content": "river", "reasoning": "deep"}}]),
        a_chunk("river", choices=[{"index": 0, "delta": {"content": "river"}, "content_filter_results": {"a": 1}}]),
        a_chunk("river", choices=[{"index": 0, "delta": {"content": "river"}}, {"index": 1, "delta": {}}]),
        a_chunk("river").replace(b'"river"', b'"\\u0072iver"').replace(b"c-1", b"river"),
        a_chunk("river").replace(b'{"content":"river"}', b'{"content":"river","c\\u006fntent":"river"}'),
        a_chunk("river", noise="aB3").replace(b'"aB3"', b'"\\u0061B3"').replace(b"c-1", b"aB3"),
    ],
)
def test_nothing_is_learned_from_a_chunk_that_says_more_or_whose_words_are_not_found(data: bytes) -> None:
    assert learned(data) is None


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CHUNKS = st.builds(
    a_chunk,
    TEXTS,
    spaced=st.booleans(),
    escaped=st.booleans(),
    noise=st.none() | st.sampled_from(["", "aB3", "zz9"]),
    created=st.sampled_from([1, 1, 1, 2]),
    model=st.sampled_from(["m", "m", "m", "another"]),
    usage=st.sampled_from([None, None, {"prompt_tokens": 3, "completion_tokens": 4}]),
    x_remark=st.sampled_from([None, None, "a vendor's remark"]),
)
OTHERS = st.sampled_from(
    [
        a_chunk("", choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        a_chunk("", choices=[], usage={"prompt_tokens": 3, "completion_tokens": 4}),
        a_chunk("", choices=[{"index": 0, "delta": {"reasoning": "deep"}}]),
        b"[DONE]",
        b"{",
    ]
)


@settings(max_examples=400)
@given(events=st.lists(CHUNKS | OTHERS, max_size=12))
@example(events=[a_chunk("one"), a_chunk("two", model="another"), a_chunk("three"), a_chunk("four")])
def test_streams_are_counted_as_if_each_chunk_was_parsed(events: list[bytes]) -> None:
    both_read(events)


@pytest.mark.parametrize("content", [b'"content":"\\u0072iver"', b'"content":"river","c\\u006fntent":"\\u0072iver"'])
def test_words_that_another_text_passes_for_are_counted(content: bytes) -> None:
    """The text that stands there as it is would be cut out, empty from then on, and the words pass uncounted."""
    odd = a_chunk("river").replace(b'"content":"river"', content).replace(b"c-1", b"river")
    both_read([odd, *[odd.replace(b'"river"', b'""')] * 3])


@settings(max_examples=300)
@given(
    texts=st.lists(st.text("abc ö", min_size=1, max_size=8), min_size=2, max_size=4),
    at=st.integers(0, 300),
    byte=st.integers(0, 255),
    noise=st.none() | st.just("aB3"),
)
def test_a_byte_that_is_changed_is_read_as_if_it_was_parsed(
    texts: list[str], at: int, byte: int, noise: str | None
) -> None:
    chunks = [a_chunk(text, noise=noise) for text in texts]
    odd = bytearray(chunks[-1])
    odd[at % len(odd)] = byte
    both_read([*chunks, bytes(odd), chunks[0]])


def test_a_stream_without_anything_in_common_is_not_looked_at_for_ever() -> None:
    meter = Meter()
    for number in range(2 * FORMS_MOST):
        assert meter.read_event(a_chunk(f"word {number}", created=number)) is Event.PASSES
    assert meter.chunk_form.looks_left == 0
