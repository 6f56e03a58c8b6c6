"""Gemini's answers as our protocol has them; whole ones are in `golden/gemini`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.providers.vendors.builders import Heard, an_order, events_in, metered, told_by
from tollkeeper.core.calls.chat import CHOICES_MOST
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.money.prices import Usage
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.gemini import Gemini
from tollkeeper.providers.vendors.gemini_to_chat import ContentStream, whole_answer

GEMINI = Gemini()
HEADING = Heading("", 0, "m")
COUNTS = {"promptTokenCount": 10, "candidatesTokenCount": 5}
CALL = {"functionCall": {"name": "f", "args": {}}}


def a_candidate(*parts: object, **more: object) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": parts}, **more}


def an_answer(*candidates: object, **more: object) -> bytes:
    return json.dumps({"candidates": candidates, "responseId": "r", **more}).encode()


def saying(text: str, **more: object) -> bytes:
    return an_answer(a_candidate({"text": text}), **more)


def ending(reason: object = "STOP", *parts: object, **more: object) -> bytes:
    return an_answer(a_candidate(*parts, finishReason=reason), **more)


def whole(body: bytes, *, one_tool_call: bool = False) -> Any:
    return json.loads(whole_answer(body, HEADING, one_tool_call=one_tool_call))


def streamed(*answers: bytes, one_tool_call: bool = False) -> bytes:
    stream = ContentStream(HEADING, one_tool_call=one_tool_call)
    return b"".join(map(stream.read, answers)) + stream.end()


def chunks(told: bytes) -> list[Any]:
    return [json.loads(data) for data in events_in(told) if data != b"[DONE]"]


def choices_in(told: bytes) -> list[Any]:
    return [choice for chunk in chunks(told) for choice in chunk["choices"]]


# Whole, and in pieces.


@pytest.mark.parametrize(
    ("reason", "parts", "finish_reason"),
    [
        ("STOP", [], "stop"),
        ("STOP", [CALL], "tool_calls"),
        ("MAX_TOKENS", [], "length"),
        ("MAX_TOKENS", [CALL], "length"),
        ("SAFETY", [CALL], "content_filter"),
        ("RECITATION", [], "content_filter"),
        ("PROHIBITED_CONTENT", [], "content_filter"),
        ("SPII", [], "content_filter"),
        ("MALFORMED_FUNCTION_CALL", [], "stop"),
        ("OF_ANOTHER_YEAR", [], "stop"),
    ],
)
def test_the_reason_to_end_is_told(reason: str, parts: list[object], finish_reason: str) -> None:
    assert whole(ending(reason, *parts))["choices"][0]["finish_reason"] == finish_reason
    # Newer models tell the end after the last call, not with it.
    told = streamed(an_answer(a_candidate(*parts)), ending(reason, {"text": ""}))
    assert [choice["finish_reason"] for choice in choices_in(told)][-1] == finish_reason
    assert metered(told).finished


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        pytest.param(COUNTS, Usage(10, 5), id="plain"),
        pytest.param(COUNTS | {"thoughtsTokenCount": 7}, Usage(10, 12), id="thoughts are output"),
        pytest.param(COUNTS | {"toolUsePromptTokenCount": 3}, Usage(13, 5), id="results are input"),
        pytest.param(COUNTS | {"cachedContentTokenCount": 4}, Usage(10, 5, 4), id="cached is input"),
        pytest.param({"promptTokenCount": 10}, Usage(10, 0), id="zero is left out"),
        pytest.param(COUNTS | {"thoughtsTokenCount": None}, Usage(10, 5), id="null is left out"),
        pytest.param({"trafficType": "ON_DEMAND"}, None, id="no counts"),
        pytest.param({"candidatesTokenCount": 5}, None, id="output alone"),
        pytest.param(COUNTS | {"promptTokenCount": 10.5}, None, id="fraction"),
        pytest.param(COUNTS | {"candidatesTokenCount": "5"}, None, id="text"),
        pytest.param(COUNTS | {"candidatesTokenCount": True}, None, id="true"),
        pytest.param(COUNTS | {"cachedContentTokenCount": -1}, None, id="below zero"),
        pytest.param(COUNTS | {"candidatesTokenCount": 9 * 10**4000}, None, id="absurd"),
        pytest.param([10, 5], None, id="array"),
        pytest.param(None, None, id="null"),
    ],
)
def test_usage_is_told_as_we_count_it(counts: object, usage: Usage | None) -> None:
    meter = WholeMeter()
    meter.read(whole_answer(ending(usageMetadata=counts), HEADING, one_tool_call=False))
    assert meter.reported == usage
    assert metered(streamed(ending(usageMetadata=counts))).reported == usage


def test_a_call_without_an_id_is_given_one() -> None:
    parts = CALL, {"functionCall": {"name": "g", "id": "theirs"}}, CALL
    expected = ["call_r_0", "theirs", "call_r_1", "call_r_2"]
    answer = an_answer(a_candidate(*parts), a_candidate(CALL, index=1))
    told = whole(answer)["choices"]
    assert [call["id"] for choice in told for call in choice["message"]["tool_calls"]] == expected
    assert told[0]["message"]["tool_calls"][1]["function"] == {"name": "g", "arguments": "{}"}
    deltas = [choice["delta"]["tool_calls"][0] for choice in choices_in(streamed(answer))]
    assert [delta["id"] for delta in deltas] == expected
    assert [delta["index"] for delta in deltas] == [0, 1, 2, 0]


@pytest.mark.parametrize(("wish", "calls"), [(None, 3), (True, 3), (False, 1)])
@pytest.mark.parametrize("stream", [False, True])
async def test_of_several_calls_the_first_is_told_to_who_wants_one(
    wish: bool | None, calls: int, *, stream: bool
) -> None:
    answer = ending("STOP", CALL, CALL, {"text": "x"}, CALL)
    order = an_order(stream=stream, parallel_tool_calls=wish)
    heard = b"data: " + answer + b"\n\n" if stream else answer
    told = await told_by(GEMINI, [heard], order)
    assert told.count(b'"function":') == calls
    assert b'"finish_reason":"tool_calls"' in told


async def test_a_wish_is_known_when_the_order_is_forgotten() -> None:
    order = an_order(parallel_tool_calls=False)
    answer = GEMINI.translate(Heard([ending("STOP", CALL, CALL)]), order)
    order.forget_content()
    assert (await answer.read()).count(b'"function":') == 1


# Whole.


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Bad gateway",
        b"[]",
        b"null",
        b"{}",
        b'{"candidates": null}',
        b'{"candidates": []}',
        b'{"candidates": [5, null]}',
        b'{"candidates": {"content": {}}}',
        b'{"promptFeedback": {"blockReason": ""}}',
        b'{"error": {"code": 503}, "candidates": [{}]}',
        b'{"candidates": [{"x": 1e999}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_answer_is_not_taken_for_one(body: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        whole_answer(body, HEADING, one_tool_call=False)


@pytest.mark.parametrize(
    "part",
    [
        None,
        5,
        {},
        {"text": None},
        {"text": 5},
        {"functionCall": None},
        {"functionCall": 5},
        {"inlineData": {"data": ""}},
    ],
)
def test_a_part_of_another_form_says_nothing(part: object) -> None:
    answer = ending("STOP", part, {"text": "Hi"})
    assert whole(answer)["choices"][0]["message"] == {"role": "assistant", "content": "Hi", "refusal": None}
    assert [choice["delta"] for choice in choices_in(streamed(answer))] == [{"role": "assistant", "content": "Hi"}, {}]


# In pieces.


def test_each_choice_begins_with_its_role_and_ends_once() -> None:
    told = streamed(
        an_answer(a_candidate({"text": "A"}), a_candidate({"text": "B"}, index=1)),
        an_answer(a_candidate({"text": "b"}, index=1, finishReason="STOP"), usageMetadata=COUNTS),
        an_answer(a_candidate({"text": "a"}, finishReason="MAX_TOKENS"), usageMetadata=COUNTS),
    )
    assert [(choice["index"], choice["delta"], choice["finish_reason"]) for choice in choices_in(told)] == [
        (0, {"role": "assistant", "content": "A"}, None),
        (1, {"role": "assistant", "content": "B"}, None),
        (1, {"content": "b"}, None),
        (1, {}, "stop"),
        (0, {"content": "a"}, None),
        (0, {}, "length"),
    ]
    assert told.count(b'"usage":') == 1


@pytest.mark.parametrize("index", [None, -1, 128, 10**30, "1", True, 1.5, [1]])
def test_a_choice_that_nobody_could_have_asked_for_is_the_first(index: object) -> None:
    told = streamed(saying("Hi"), an_answer(a_candidate({"text": "!"}, index=index)))
    assert [choice["index"] for choice in choices_in(told)] == [0, 0]


def test_the_first_usage_is_told_before_the_first_words() -> None:
    first, second, *_ = chunks(streamed(saying("Hi", usageMetadata=COUNTS), saying("!", usageMetadata=COUNTS)))
    assert first["usage_so_far"]["prompt_tokens"] == 10
    assert second["choices"][0]["delta"]["content"] == "Hi"


def test_usage_from_before_the_end_is_not_final() -> None:
    assert metered(streamed(saying("Hi", usageMetadata=COUNTS), ending())).reported is None
    late = streamed(ending(), an_answer(usageMetadata=COUNTS))
    assert metered(late).reported == Usage(10, 5)


def test_an_end_that_is_said_too_early_loses_nothing() -> None:
    counts = [COUNTS | {"candidatesTokenCount": count} for count in (1, 2, 3)]
    told = streamed(
        *(ending("STOP", {"text": text}, usageMetadata=used) for text, used in zip("abc", counts, strict=True))
    )
    assert "".join(choice["delta"].get("content", "") for choice in choices_in(told)) == "abc"
    assert [choice["finish_reason"] for choice in choices_in(told)].count("stop") == 1
    assert metered(told).reported == Usage(10, 3)


def test_a_question_that_is_blocked_late_ends_what_has_begun() -> None:
    told = streamed(saying("Hi"), b'{"promptFeedback": {"blockReason": "SAFETY"}}')
    assert choices_in(told)[-1]["finish_reason"] == "content_filter"


def test_thoughts_are_counted_while_they_are_thought() -> None:
    """Who hangs up before the first word pays for what was thought until then."""
    counts = [COUNTS | {"thoughtsTokenCount": thoughts} for thoughts in (1, 100, 300, 400, 900)]
    stream, meter = ContentStream(HEADING, one_tool_call=False), Meter()
    seen = []
    for count in counts:
        for data in events_in(stream.read(json.dumps({"usageMetadata": count}).encode())):
            assert meter.read_event(data) is Event.ASIDE
        seen.append(meter.so_far.output_units if meter.so_far else 0)
    assert [after - COUNTS["candidatesTokenCount"] for after in seen] == [1, 1, 300, 300, 900]


def test_a_report_is_told_once_however_the_choices_end() -> None:
    told = streamed(
        ending("STOP", {"text": "a"}, usageMetadata=COUNTS),
        json.dumps({"candidates": [{"index": 1, "finishReason": "STOP"}], "usageMetadata": COUNTS}).encode(),
    )
    assert told.count(b'"usage":') == 1


def test_fewer_choices_than_were_asked_for_are_all_there_are() -> None:
    stream, meter = ContentStream(HEADING, one_tool_call=False), Meter(choices=3)
    assert stream.end() == b""
    for data in events_in(stream.read(saying("Hi")) + stream.read(ending("STOP", {"text": "!"})) + stream.end()):
        meter.read_event(data)
    assert meter.finished


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        pytest.param(b'{"error": {"code": 503, "status": "UNAVAILABLE"}}', [Event.ERROR], id="error"),
        pytest.param(b'{"error": "Busy", "candidates": [{}]}', [Event.ERROR], id="error as text"),
        pytest.param(b"Bad\ngateway", [Event.ERROR], id="no JSON"),
        pytest.param(b"{}\n{}", [Event.ERROR], id="JSON by the line"),
        pytest.param(b'{"candidates": [', [Event.ERROR], id="cut off"),
        pytest.param(b"[" * 100_000, [Event.ERROR], id="deep"),
        pytest.param(b'{"candidates": [{"x": 1e999}]}', [Event.ERROR], id="number that cannot be read"),
        pytest.param(b"[DONE]", [Event.ERROR], id="another protocol's end"),
        pytest.param(b"[5]", [], id="array"),
        pytest.param(b"{}", [], id="nothing"),
        pytest.param(b'{"candidates": [{"content": 5}]}', [], id="strange"),
    ],
)
def test_what_is_no_part_of_an_answer_is_seen_by_the_meter(data: bytes, kinds: Sequence[Event]) -> None:
    meter = Meter()
    assert [meter.read_event(event) for event in events_in(streamed(data))] == kinds


async def test_nothing_is_told_of_what_comes_after_an_event_that_cannot_be_read() -> None:
    events = [b"data: %b\n\n" % data for data in (saying("Hi"), b"{nonsense", saying("more"), ending())]
    told = await told_by(Gemini(), [b"".join(events), b"".join(events)], an_order(stream=True))
    assert [b"Hi" in told, b"unreadable" in told, b"more" in told] == [True, True, False]
    assert told.count(b"unreadable") == 1


def test_no_more_choices_are_told_than_anybody_can_have_asked_for() -> None:
    candidates = [a_candidate({"text": "Hi"}, index=index, finishReason="STOP") for index in range(2 * CHOICES_MOST)]
    assert len(whole(an_answer(*candidates))["choices"]) == CHOICES_MOST
