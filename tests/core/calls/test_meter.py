import json
import time
import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.calls.test_chat import json_values
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.tokens import count
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
WORDS = "The keeper counts every token, and never twice."


def a_choice(delta: object = None, *, index: int = 0, finish_reason: str | None = None) -> dict[str, object]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def a_chunk(*choices: object, **fields: object) -> bytes:
    return json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": choices, **fields}).encode()


def saying(text: str, *, index: int = 0) -> bytes:
    return a_chunk(a_choice({"content": text}, index=index))


def ending(*, index: int = 0) -> bytes:
    return a_chunk(a_choice({}, index=index, finish_reason="stop"))


def a_whole(*messages: object, **fields: object) -> bytes:
    choices = [{"index": index, "message": message, "finish_reason": "stop"} for index, message in enumerate(messages)]
    return json.dumps({"id": "c", "choices": choices, **fields}).encode()


def a_meter(events: Iterable[bytes] = ()) -> Meter:
    meter = Meter()
    for event in events:
        meter.read_event(event)
    return meter


# Reports.


@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        pytest.param(USAGE, Usage(10, 5), id="plain"),
        pytest.param({**USAGE, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(10, 5, 4), id="cached"),
        pytest.param({**USAGE, "prompt_tokens_details": {"cached_tokens": None}}, Usage(10, 5), id="cached null"),
        pytest.param({**USAGE, "prompt_tokens_details": {"text_tokens": 1}}, Usage(10, 5), id="other details"),
        pytest.param(
            {**USAGE, "prompt_tokens_details": {"audio_tokens": 1}},
            Usage(10, 5, 0, UsageParts(audio_input=1)),
            id="audio",
        ),
        pytest.param({**USAGE, "completion_tokens_details": "none"}, Usage(10, 5), id="details of another form"),
        pytest.param({**USAGE, "prompt_tokens_details": None}, Usage(10, 5), id="details null"),
        pytest.param({**USAGE, "completion_tokens_details": {"reasoning_tokens": 3}}, Usage(10, 5), id="reasoning"),
        pytest.param({**USAGE, "cost": "0.1", "x": [{}]}, Usage(10, 5), id="unknown fields"),
        pytest.param({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0), id="explicit zeros"),
        # Whether it can be is for the one who charges to say.
        pytest.param({"prompt_tokens": -1, "completion_tokens": -2}, Usage(-1, -2), id="below zero"),
        pytest.param({"prompt_tokens": 2**63, "completion_tokens": 10**30}, Usage(2**63, 10**30), id="absurd"),
    ],
)
def test_usage_is_kept_as_reported(usage: object, reported: Usage) -> None:
    assert a_meter([a_chunk(usage=usage)]).reported == reported
    whole = WholeMeter()
    whole.read(a_whole({"content": WORDS}, usage=usage))
    assert whole.reported == reported


UNREADABLE = {
    "text": '"many"',
    "number": "5",
    "array": "[10, 5]",
    "true": "true",
    "empty": "{}",
    "input alone": '{"prompt_tokens": 10}',
    "output alone": '{"completion_tokens": 5}',
    "counts in quotes": '{"prompt_tokens": "10", "completion_tokens": 5}',
    "counts null": '{"prompt_tokens": null, "completion_tokens": 5}',
    "fraction": '{"prompt_tokens": 10.5, "completion_tokens": 5}',
    "written as a fraction": '{"prompt_tokens": 10.0, "completion_tokens": 5}',
    "out of range": '{"prompt_tokens": 1e999, "completion_tokens": 5}',
    "5,000 digits": f'{{"prompt_tokens": {"9" * 5_000}, "completion_tokens": 5}}',
    "true for a count": '{"prompt_tokens": true, "completion_tokens": 5}',
    "details a text": '{"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": "none"}',
}
unreadable_usage = pytest.mark.parametrize("usage", UNREADABLE.values(), ids=UNREADABLE)


@unreadable_usage
def test_usage_that_cannot_be_understood_is_no_report(usage: str) -> None:
    meter = a_meter([saying(WORDS)])
    assert meter.read_event(b'{"choices":[],"usage":%s}' % usage.encode()) is Event.USAGE
    assert meter.reported is None
    # A text in place of numbers is counted.
    assert count(WORDS) <= meter.output_tokens <= count(WORDS) + 1


@unreadable_usage
def test_words_beside_usage_that_cannot_be_understood_are_counted(usage: str) -> None:
    meter = Meter()
    assert meter.read_event(ending()[:-1] + b',"usage":%s}' % usage.encode()) is Event.PASSES
    assert meter.read_event(saying(WORDS)[:-1] + b',"usage":%s}' % usage.encode()) is Event.PASSES
    # A text in place of numbers is counted with them.
    assert (meter.reported, meter.finished) == (None, True)
    assert count(WORDS) <= meter.output_tokens <= count(WORDS) + 8


@unreadable_usage
def test_a_whole_answer_with_usage_that_cannot_be_understood_is_counted(usage: str) -> None:
    meter = WholeMeter()
    meter.read(a_whole({"content": WORDS})[:-1] + b',"usage":%s}' % usage.encode())
    assert meter.reported is None
    assert count(WORDS) <= meter.output_tokens <= count(WORDS) + 8


@unreadable_usage
def test_a_report_that_was_understood_outlasts_one_that_is_not(usage: str) -> None:
    meter = a_meter([a_chunk(usage=USAGE), b'{"choices":[],"usage":%s}' % usage.encode()])
    assert meter.reported == Usage(10, 5)


def test_of_usage_that_grows_with_every_chunk_the_last_report_counts() -> None:
    meter = Meter()
    for words in range(1, 4):
        usage = {"prompt_tokens": 10, "completion_tokens": words}
        assert meter.read_event(a_chunk(a_choice({"content": "a "}), usage=usage)) is Event.PASSES
        assert meter.reported == Usage(10, words)
    assert meter.output_tokens == count("a a a ")


def test_usage_told_on_the_way_is_no_report() -> None:
    meter = a_meter([a_chunk(usage_so_far=USAGE), saying(WORDS)])
    assert meter.so_far == Usage(10, 5)
    assert meter.reported is None


def test_a_report_after_which_more_is_said_is_one_on_the_way() -> None:
    meter = a_meter([saying(WORDS), a_chunk(usage=USAGE)])
    assert (meter.reported, meter.so_far) == (Usage(10, 5), None)
    meter.read_event(saying(WORDS))
    assert (meter.reported, meter.so_far) == (None, Usage(10, 5))
    meter.read_event(a_chunk(usage=USAGE))
    assert (meter.reported, meter.so_far) == (Usage(10, 5), None)


def test_a_line_break_behind_a_report_takes_nothing_from_it() -> None:
    assert a_meter([saying(WORDS), a_chunk(usage=USAGE), saying("\n")]).reported == Usage(10, 5)


@pytest.mark.parametrize("output", [0, 3])
def test_a_report_on_the_way_without_input_is_none(output: int) -> None:
    nothing = a_chunk(usage={"prompt_tokens": 0, "completion_tokens": output})
    meter = a_meter([nothing, saying(WORDS), nothing, saying(WORDS)])
    assert (meter.reported, meter.so_far) == (None, None)


def test_reports_in_the_only_choice_are_read_in_every_chunk() -> None:
    meter = Meter()
    for _ in range(5):
        meter.read_event(a_chunk(a_choice({"content": WORDS}) | {"usage": USAGE}))
        assert meter.reported == Usage(10, 5)


def test_what_a_vendor_remarks_after_a_report_takes_nothing_from_it() -> None:
    meter = a_meter([saying(WORDS), a_chunk(usage=USAGE), a_chunk(a_choice({}), remark="a long remark " * 9)])
    assert meter.reported == Usage(10, 5)


def test_a_report_of_nothing_takes_no_other_back() -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0}
    assert a_meter([a_chunk(usage=USAGE), a_chunk(usage=nothing)]).reported == Usage(10, 5)
    assert a_meter([a_chunk(usage=nothing)]).reported == Usage(0)


def test_a_report_may_stand_in_the_only_choice() -> None:
    choice = {**a_choice({}), "finish_reason": "stop", "usage": USAGE}
    meter = a_meter([saying(WORDS), a_chunk(choice)])
    assert (meter.reported, meter.finished, meter.unsure) == (Usage(10, 5), True, False)
    several = Meter(2)
    several.read_event(a_chunk(choice))
    assert several.reported is None


def test_usage_said_twice_is_not_added_up() -> None:
    assert a_meter([a_chunk(usage=USAGE)] * 2).reported == Usage(10, 5)


# What an event is.


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(saying(WORDS), Event.PASSES, id="words"),
        pytest.param(ending(), Event.PASSES, id="reason to end"),
        pytest.param(a_chunk(a_choice({"role": "assistant", "content": ""})), Event.PASSES, id="role"),
        pytest.param(a_chunk(a_choice({"content": "x"}), usage=None), Event.PASSES, id="words and usage null"),
        pytest.param(b'{"choices":[], "usage" : null }', Event.ASIDE, id="usage null, with spaces"),
        pytest.param(a_chunk(usage=None), Event.ASIDE, id="usage null alone"),
        pytest.param(a_chunk(a_choice({"content": "x"}), usage=USAGE), Event.PASSES, id="words and usage"),
        pytest.param(a_chunk(usage=USAGE), Event.USAGE, id="usage"),
        pytest.param(json.dumps({"usage": USAGE}).encode(), Event.USAGE, id="usage without choices"),
        pytest.param(a_chunk(usage=USAGE, error=None), Event.USAGE, id="usage and error null"),
        pytest.param(b'{"choices":null,"usage":{}}', Event.USAGE, id="choices null"),
        pytest.param(a_chunk(prompt_filter_results=[{}]), Event.ASIDE, id="no choices, and something else"),
        pytest.param(b"{}", Event.PASSES, id="empty"),
        pytest.param(b"[DONE]", Event.DONE, id="done"),
        pytest.param(b'{"error":{"message":"overloaded"}}', Event.ERROR, id="error"),
        pytest.param(b'{"error":"overloaded"}', Event.ERROR, id="error as text"),
        pytest.param(b'{"error":{}}', Event.ERROR, id="error without words"),
        pytest.param(a_chunk(a_choice({"content": "x"}), error={"code": 502}), Event.ERROR, id="error beside words"),
        pytest.param(b'{"choices":5,"error":{"code":502}}', Event.ERROR, id="error beside choices of unknown form"),
        pytest.param(b'{"error":null,"choices":[]}', Event.ASIDE, id="error null"),
        pytest.param(b"", Event.MALFORMED, id="no data"),
        pytest.param(b"nonsense", Event.MALFORMED, id="no JSON"),
        pytest.param(saying(WORDS)[:-1], Event.MALFORMED, id="cut off"),
        pytest.param(saying(WORDS) + b"x", Event.MALFORMED, id="garbage behind"),
        pytest.param(b"[]", Event.MALFORMED, id="array"),
        pytest.param(b"null", Event.MALFORMED, id="null"),
        pytest.param(b'"[DONE]"', Event.MALFORMED, id="text"),
        pytest.param(b'{"choices":[{"delta":{"content":"\xff"}}]}', Event.PASSES, id="words not UTF-8"),
        pytest.param(b'{"choices":[{"delta":{"content":"\\ud83d"}}]}', Event.PASSES, id="half a surrogate pair"),
        pytest.param(b'{"choices":[{"delta":{"content":"x"},"p":NaN}]}', Event.PASSES, id="not a number"),
        pytest.param(b"[" * 10**5, Event.MALFORMED, id="10^5 arrays"),
        pytest.param(b'{"usage":' + b"[" * 10**5 + b"]" * 10**5 + b"}", Event.MALFORMED, id="10^5 arrays for usage"),
    ],
)
def test_an_event_is_told_apart_for_the_one_who_relays_it(data: bytes, kind: Event) -> None:
    assert Meter().read_event(data) is kind


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(a_chunk(a_choice({"content": WORDS}), error={"message": WORDS}), id="error"),
        pytest.param(saying(WORDS)[:-1], id="malformed"),
        pytest.param(a_chunk(usage=USAGE, note=WORDS), id="usage"),
        pytest.param(b"[DONE]", id="done"),
    ],
)
def test_what_is_not_an_answers_words_is_never_output(data: bytes) -> None:
    meter = a_meter([data])
    assert (meter.output_tokens, meter.characters, meter.finished) == (0, 0, False)


STRANGE = {
    "choices true": b'{"choices":true%s}',
    "choices an object": b'{"choices":{"0":{"delta":{"content":""}}}%s}',
    "a choice null": b'{"choices":[null]%s}',
    "index a text": b'{"choices":[{"index":"0","delta":{"content":""}}]%s}',
    "index null": b'{"choices":[{"index":null,"delta":{"content":""}}]%s}',
    "delta a text": b'{"choices":[{"index":0,"delta":""}]%s}',
    "content in parts": b'{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":""}]}}]%s}',
    "a tool call null": b'{"choices":[{"index":0,"delta":{"tool_calls":[null]}}]%s}',
    "arguments an object": b'{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":{}}}]}}]%s}',
}
strange_form = pytest.mark.parametrize("form", STRANGE.values(), ids=STRANGE)


@strange_form
def test_choices_of_unknown_form_pass_and_their_usage_is_kept(form: bytes) -> None:
    meter = Meter()
    assert meter.read_event(form % b"") is Event.PASSES
    assert meter.read_event(form % b',"usage":{"prompt_tokens":10,"completion_tokens":5}') is Event.PASSES
    assert meter.reported == Usage(10, 5)
    assert (meter.output_tokens, meter.characters) == (0, 0)


@strange_form
def test_a_stream_with_choices_of_unknown_form_is_finished_by_its_reason_to_end(form: bytes) -> None:
    meter = a_meter([saying(WORDS), form % b""])
    assert not meter.finished
    meter.read_event(ending())
    assert meter.finished
    assert meter.output_tokens == count(WORDS)


@strange_form
def test_a_whole_answer_of_unknown_form_is_an_answer(form: bytes) -> None:
    meter = WholeMeter()
    meter.read(form % b',"usage":{"prompt_tokens":10,"completion_tokens":5}')
    assert meter.reported == Usage(10, 5)


@pytest.mark.parametrize(
    "delta",
    [{"content": []}, {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}],
    ids=["content in parts", "arguments an object"],
)
def test_a_reason_to_end_is_seen_beside_words_of_unknown_form(delta: object) -> None:
    meter = a_meter([saying("x"), saying("y", index=1), a_chunk(a_choice(delta, index=1, finish_reason="stop"))])
    assert not meter.finished
    meter.read_event(a_chunk(a_choice(delta, finish_reason="stop")))
    assert meter.finished


# Counting.


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param({"content": WORDS}, WORDS, id="content"),
        pytest.param({"refusal": WORDS}, WORDS, id="refusal"),
        pytest.param({"reasoning_content": WORDS}, WORDS, id="reasoning_content"),
        pytest.param({"reasoning": WORDS}, WORDS, id="reasoning"),
        pytest.param({"reasoning_content": "Hm. ", "content": "Yes."}, "Yes.Hm. ", id="thought and said"),
        pytest.param({"function_call": {"name": "toll", "arguments": '{"a":1}'}}, 'toll{"a":1}', id="function call"),
        pytest.param(
            {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "toll", "arguments": '{"a":1}'}}]},
            'toll{"a":1}',
            id="tool call",
        ),
        pytest.param(
            {"tool_calls": [{"function": {"name": "one"}}, {"function": {"arguments": "[2]"}}, {}]},
            "one[2]",
            id="tool calls, each in part",
        ),
        pytest.param({"content": None, "tool_calls": None, "function_call": None}, "", id="null"),
        pytest.param({"content": ""}, "", id="empty"),
        pytest.param({"role": "assistant", "annotations": []}, "", id="what no provider counts"),
        pytest.param({"annotations": [{"type": "url_citation", "title": WORDS}]}, WORDS, id="annotations"),
        pytest.param({"content": [{"type": "text", "text": WORDS}]}, WORDS, id="content in parts"),
        pytest.param({"reasoning_details": [{"type": "reasoning.text", "text": WORDS}]}, WORDS, id="details"),
        pytest.param(
            {"reasoning": WORDS, "reasoning_details": [{"type": "reasoning.text", "text": WORDS}]},
            WORDS,
            id="the same thoughts under two names",
        ),
        pytest.param(
            {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": WORDS}}]},
            f"sql{WORDS}",
            id="custom tool",
        ),
        pytest.param({"tool_calls": [{"id": "c", "type": "new", "new": {"says": WORDS}}]}, WORDS, id="new tool"),
        pytest.param({"audio": {"id": "a", "transcript": WORDS}}, WORDS, id="audio"),
        pytest.param({"images": [{"image_url": {"url": WORDS}}]}, WORDS, id="images"),
        pytest.param({"content": "", "unheard_of": {"deep": [[{"deeper": WORDS}]]}}, WORDS, id="new"),
        pytest.param({"content": [], "id": WORDS * 10}, WORDS * 10, id="too long for an id"),
    ],
)
def test_everything_that_a_provider_counts_as_output_is_counted(words: object, text: str) -> None:
    meter = a_meter([a_chunk(a_choice(words))])
    assert (meter.output_tokens, meter.characters) == (count(text), len(text))
    whole = WholeMeter()
    whole.read(a_whole(words))
    assert (whole.output_tokens, whole.characters) == (count(text), len(text))


@pytest.mark.parametrize(
    ("choice", "fields"),
    [
        pytest.param({"index": 0, "text": WORDS}, {}, id="text of a choice"),
        pytest.param({"index": 0, "delta": WORDS}, {}, id="words that are a text"),
        pytest.param({"index": 0, "delta": {}, "logprobs": {"content": [{"token": WORDS}]}}, {}, id="logprobs alone"),
        pytest.param({"index": "0", "delta": {"content": WORDS}}, {}, id="index a text"),
        pytest.param({"index": 0, "delta": {}}, {"output": {"text": WORDS}}, id="beside the choices"),
        pytest.param({"index": 0, "delta": {"role": WORDS}}, {}, id="role"),
        pytest.param({"index": 0, "delta": {}, "finish_reason": WORDS}, {}, id="reason to end"),
        pytest.param({"index": 0, "delta": {WORDS: True}}, {}, id="name of a member"),
        pytest.param({"index": 0, "delta": {}}, {"usage": {"note": WORDS}}, id="usage"),
        pytest.param({"index": 0, "delta": {"content": WORDS}, "message": {"content": ""}}, {}, id="delta and message"),
    ],
)
def test_text_is_counted_wherever_in_a_chunk_it_stands(choice: object, fields: dict[str, object]) -> None:
    meter = Meter()
    assert meter.read_event(a_chunk(choice, **fields)) is Event.PASSES
    assert (meter.output_tokens, meter.characters) == (count(WORDS), len(WORDS))


@pytest.mark.parametrize("name", ["id", "model", "system_fingerprint", "object", "service_tier", "provider"])
def test_what_stands_on_every_chunk_alike_is_not_counted_but_what_changes_is(name: str) -> None:
    alike = a_meter([a_chunk(a_choice({"content": "x"}), **{name: WORDS})] * 20)
    assert alike.characters == 20
    labels = [f"{WORDS}{number}" for number in range(20)]
    changing = a_meter(a_chunk(a_choice({}), **{name: label}) for label in labels)
    assert changing.output_tokens == count("".join(labels)), "the first of them as well"
    assert changing.unsure


def test_calls_of_a_whole_answer_each_have_their_own_id() -> None:
    calls = [
        {"id": f"{WORDS}{at}", "type": "function", "function": {"name": "n", "arguments": "{}"}} for at in range(3)
    ]
    meter = WholeMeter()
    meter.read(a_whole({"content": None, "tool_calls": calls}))
    assert meter.output_tokens == count("n{}" * 3)


def test_an_id_counts_where_its_call_has_another_one_already() -> None:
    def naming(id_: str) -> bytes:
        return a_chunk(a_choice({"tool_calls": [{"index": 0, "id": id_, "function": {"name": "n"}}]}))

    assert a_meter([naming(WORDS)] * 20).output_tokens == count("n")
    old = a_chunk(a_choice({"function_call": {"name": WORDS, "arguments": "a "}}))
    assert a_meter([old] * 20).output_tokens == count(WORDS + "a " * 20)
    ids = [f"{WORDS} {number}" for number in range(20)]
    assert a_meter(map(naming, ids)).output_tokens == count("n") + count("".join(ids)), "the first of them as well"


def test_numbers_of_unknown_meaning_are_counted_as_they_are_written() -> None:
    meter = a_meter([a_chunk(a_choice({"murmur": [123456789, 0.25]}))])
    assert meter.output_tokens == count("1234567890.25")


def test_logprobs_that_repeat_the_content_are_not_counted_again() -> None:
    choice = a_choice({"content": WORDS}) | {"logprobs": {"content": [{"token": WORDS, "top_logprobs": []}]}}
    meter = a_meter([a_chunk(choice)])
    assert (meter.output_tokens, meter.unsure) == (count(WORDS), False)


def test_a_meter_is_unsure_of_much_text_of_unknown_form_but_not_of_a_remark_beside_known_words() -> None:
    remark = a_meter([a_chunk(a_choice({"content": WORDS, "remark": "ok"}))] * 20)
    assert not remark.unsure
    hidden = a_meter([a_chunk(a_choice({"content": "x", "hidden": WORDS}))] * 20)
    assert hidden.unsure


def test_what_is_too_long_to_be_read_is_estimated() -> None:
    meter = a_meter([saying(WORDS)])
    meter.estimate(4_000_001)
    assert meter.output_tokens == count(WORDS) + 1_000_001
    assert meter.guessed_tokens == 1_000_001


@pytest.mark.parametrize("size_bytes", [4 * 1024 * 1024], ids=["4 MB"])
def test_a_huge_chunk_of_unknown_form_is_counted_by_its_bytes(size_bytes: int) -> None:
    meter = a_meter([a_chunk(a_choice({"hidden": ["ab"] * (size_bytes // 6)}))])
    assert size_bytes // 8 < meter.output_tokens < size_bytes
    assert meter.unsure


def test_a_tool_call_that_comes_in_parts_is_counted_as_one_text() -> None:
    parts = [{"name": "get_weather", "arguments": ""}, {"arguments": '{"to'}, {"arguments": 'wn": "Ulm"}'}]
    meter = a_meter(a_chunk(a_choice({"tool_calls": [{"index": 0, "function": part}]})) for part in parts)
    assert meter.output_tokens == count('get_weather{"town": "Ulm"}')


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.text() | st.sampled_from(["don", "'t", " ", "12", "3", "\n"]))))
def test_the_count_is_that_of_each_choices_whole_text(parts: list[tuple[int, str]]) -> None:
    meter = a_meter(saying(text, index=index) for index, text in parts)
    texts = ["".join(text for index, text in parts if index == wanted) for wanted in range(4)]
    assert meter.output_tokens == sum(map(count, texts))
    assert meter.characters == sum(map(len, texts))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(), max_size=3))
def test_a_whole_answer_without_usage_is_counted_choice_by_choice(texts: list[str]) -> None:
    meter = WholeMeter()
    meter.read(a_whole(*({"role": "assistant", "content": text} for text in texts)))
    assert meter.reported is None
    assert meter.output_tokens == sum(map(count, texts))


def test_a_whole_answer_is_counted_only_when_somebody_asks() -> None:
    meter = WholeMeter()
    meter.read(a_whole({"content": WORDS}, usage=USAGE))
    assert (meter.reported, meter.characters) == (Usage(10, 5), 0)
    assert [meter.output_tokens, meter.output_tokens] == [count(WORDS)] * 2
    assert meter.characters == len(WORDS)


def test_a_long_answer_is_counted_exactly_and_let_go() -> None:
    event = saying(f"{WORDS} ")
    meter = a_meter([event])
    tracemalloc.start()
    try:
        for _ in range(4_999):
            meter.read_event(event)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert meter.output_tokens == count(f"{WORDS} " * 5_000)
    assert most_bytes < 100_000 < meter.characters


@pytest.mark.not_quick
def test_a_meter_does_not_grow_with_the_choices_that_a_provider_invents() -> None:
    meter = a_meter([saying("x")])
    tracemalloc.start()
    try:
        for index in range(-5_000, 5_000):
            meter.read_event(saying("x ", index=index))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 300_000
    assert meter.characters == 20_001


# The end.


@pytest.mark.parametrize(
    ("events", "finished"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param([saying("x")], False, id="begun"),
        pytest.param([saying("x"), ending()], True, id="ended"),
        pytest.param([ending()], True, id="ended without a word"),
        pytest.param([a_chunk(a_choice({"content": "x"}, finish_reason="length"))], True, id="ended with a word"),
        pytest.param([saying("x"), ending(), saying("y")], True, id="a word behind the end"),
        pytest.param([saying("x"), saying("y", index=1), ending()], False, id="one of two"),
        pytest.param([saying("x"), saying("y", index=1), ending(index=1), ending()], True, id="both of two"),
        pytest.param([saying("x", index=1), ending()], False, id="another one"),
        pytest.param([saying("x"), a_chunk(usage=USAGE)], False, id="usage is no reason"),
        pytest.param([saying("x"), b"[DONE]"], False, id="done is no reason"),
        pytest.param([saying("x"), ending(), a_chunk(usage=USAGE), b"[DONE]"], True, id="as it should be"),
    ],
)
def test_an_answer_is_finished_when_every_choice_that_began_has_given_its_reason(
    events: list[bytes], finished: bool
) -> None:
    assert a_meter(events).finished is finished


# Whatever comes.


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>502</html>", id="a page"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"{}", id="no choices"),
        pytest.param(b'{"choices":null}', id="choices null"),
        pytest.param(b'{"choices":[],"error":{"message":"x"}}', id="error"),
        pytest.param(a_whole({"content": WORDS})[:-1], id="cut off"),
        pytest.param(a_whole({"content": WORDS}) * 2, id="twice"),
        pytest.param(b'{"x":' + b"[" * 10**5 + b"]" * 10**5 + b',"choices":[]}', id="10^5 arrays"),
    ],
)
def test_a_body_that_is_no_answer_is_not_taken_for_one(body: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        WholeMeter().read(body)


DEEP = {
    "choices": b'{"choices":' + b"[" * 10**5 + b"]" * 10**5 + b"}",
    "behind choices of unknown form": b'{"choices":5,"x":' + b"[" * 10**5 + b"]" * 10**5 + b"}",
    "behind choices of unknown form, without end": b'{"choices":5,"x":' + b"[" * 10**5,
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_depth_without_end_is_malformed_wherever_it_stands(data: bytes) -> None:
    assert Meter().read_event(data) is Event.MALFORMED
    with pytest.raises(NotAnAnswer):
        WholeMeter().read(data)


words = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text() | json_values,
        "reasoning_content": json_values,
        "tool_calls": st.lists(st.fixed_dictionaries({}, optional={"function": json_values})) | json_values,
        "function_call": st.dictionaries(st.sampled_from(["name", "arguments"]), st.text() | json_values),
    },
)
choices = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 3) | json_values,
        "delta": words | json_values,
        "message": words | json_values,
        "finish_reason": st.just("stop") | json_values,
    },
)
counts = st.integers() | json_values
usages = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": counts,
        "completion_tokens": counts,
        "prompt_tokens_details": st.dictionaries(st.just("cached_tokens"), counts) | json_values,
    },
)
almost_answers = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(choices, max_size=3) | json_values,
        "usage": usages | json_values,
        "error": st.none() | json_values,
    },
)
whatever = st.builds(json.dumps, json_values | almost_answers, ensure_ascii=st.booleans()).map(str.encode)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=60) | whatever, min_size=1, max_size=4))
def test_no_event_is_too_strange_to_be_told(events: list[bytes]) -> None:
    meter = Meter()
    for event in events:
        assert meter.read_event(event) in Event
    assert 0 <= meter.output_tokens <= 4 * meter.characters
    assert meter.finished in {True, False}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | whatever)
def test_no_body_is_too_strange_to_be_an_answer_or_none(body: bytes) -> None:
    meter = WholeMeter()
    try:
        meter.read(body)
    except NotAnAnswer:
        assert (meter.reported, meter.output_tokens) == (None, 0)
    else:
        answer = json.loads(body)
        assert answer["choices"] is not None
        assert answer.get("error") is None


def test_what_a_translator_left_out_is_counted_once() -> None:
    meter, untranslated = a_meter([saying(WORDS)]), LeftOut()
    for at in range(8):
        untranslated.note(json.dumps({"murmur": f"{at}. {WORDS}"}).encode(), b"", frozenset())
        meter.note_untranslated(untranslated)
        meter.note_untranslated(untranslated)
    left_out = "".join(f"{at}. {WORDS}" for at in range(8))
    assert meter.output_tokens == count(WORDS) + count(left_out)
    assert meter.characters == len(WORDS) + len(left_out)
    assert meter.unsure


@pytest.mark.parametrize("delta", [{"thinking_blocks": [{"thinking": WORDS}]}, {"extra_content": {"google": WORDS}}])
def test_what_a_vendor_wants_to_see_again_counts(delta: object) -> None:
    assert a_meter([a_chunk(a_choice(delta))]).output_tokens == count(WORDS)


def test_thoughts_that_we_have_put_together_are_not_counted_again_but_signatures_are() -> None:
    ours = Meter()
    ours.is_translated = True
    ours.read_event(a_chunk(a_choice({"thinking_blocks": [{"thinking": WORDS}]})))
    assert ours.output_tokens == 0
    ours.read_event(a_chunk(a_choice({"extra_content": {"google": {"thought_signature": WORDS}}})))
    assert ours.guessed_tokens == count(WORDS)


@pytest.mark.parametrize("choices", [1, 8, 64])
def test_an_event_of_any_number_of_choices_is_counted_as_far_as_that_is_quick_and_estimated_beyond(
    choices: int,
) -> None:
    text = WORDS * 1_000
    meter = a_meter([a_chunk(*(a_choice({"content": text}, index=index) for index in range(choices)))])
    assert meter.characters == choices * len(text)
    assert 0.8 * choices * count(text) < meter.output_tokens < 1.5 * choices * count(text)


def test_many_choices_of_what_is_slow_to_count_are_not_counted_one_by_one() -> None:
    slow = a_chunk(*(a_choice({"content": "-" * 60_000}, index=index) for index in range(64)))
    begun = time.process_time()
    assert a_meter([slow]).output_tokens > 0
    assert time.process_time() - begun < 2, "a count of all of it takes six seconds"


def test_a_message_that_repeats_what_was_said_beside_each_delta_is_counted_once() -> None:
    said = [f"{WORDS} " * number for number in range(1, 21)]
    chunks = [
        a_chunk(a_choice({"content": f"{WORDS} "}) | {"message": {"role": "assistant", "content": whole}})
        for whole in said
    ]
    meter = a_meter(chunks)
    assert (meter.output_tokens, meter.guessed_tokens) == (count(said[-1]), 0)


def test_what_only_the_message_beside_a_delta_tells_is_counted() -> None:
    meter = a_meter([a_chunk(a_choice({"content": "x"}) | {"message": {"content": f"x{WORDS}"}})])
    assert meter.output_tokens == count("x") + count(WORDS)


def test_a_remark_that_stands_beside_every_chunk_alike_is_counted_once() -> None:
    meter = a_meter([a_chunk(a_choice({"content": "word "}), citations=[WORDS])] * 20)
    assert meter.guessed_tokens == count(WORDS)


def test_logprobs_beside_a_member_that_nobody_knows_are_not_counted() -> None:
    choice = a_choice({"content": WORDS}) | {"logprobs": {"content": [{"token": WORDS * 9}]}, "token_ids": None}
    assert a_meter([a_chunk(choice)] * 3).guessed_tokens == 0


def test_an_empty_reason_to_end_is_none() -> None:
    assert not a_meter([a_chunk(a_choice({"content": "x"}, finish_reason=""))]).finished
