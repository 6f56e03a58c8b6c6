"""Anthropic's answers as ours: what the wire files do not show."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.vendors.builders import Heard, an_order, events_in, metered, told_by
from tests.providers.vendors.json_values import json_values, mangled
from tollkeeper.core.calls.meter import AnswerTooLong, Meter, NotAnAnswer
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage
from tollkeeper.providers.vendors.anthropic import Anthropic
from tollkeeper.providers.vendors.anthropic_to_chat import MessageStream, used_in, whole_answer
from tollkeeper.providers.vendors.chat_answer import Heading, Used

GOLDEN = Path(__file__).parent / "golden" / "anthropic"
HEADING = Heading("", 0, "m")
WHOLES = [json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob("*/heard.json"))]
STREAMS = [[json.loads(data) for data in events_in(path.read_bytes())] for path in sorted(GOLDEN.glob("*/heard.sse"))]


@pytest.mark.parametrize(
    ("usage", "used"),
    [
        ({"input_tokens": 5, "output_tokens": 2}, Used(input_tokens=5, output_tokens=2)),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 100},
            Used(input_tokens=105, output_tokens=2, cached_tokens=100),
        ),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 30},
            Used(input_tokens=42, output_tokens=2, cached_tokens=7, parts=UsageParts(written_5m=30)),
        ),
        (
            {
                "input_tokens": 5,
                "output_tokens": 2,
                "cache_creation_input_tokens": 30,
                "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            },
            Used(input_tokens=35, output_tokens=2, parts=UsageParts(written_5m=10, written_1h=20)),
        ),
        (
            # What is no number says nothing.
            {"input_tokens": 5, "output_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": -3, "x": "y"}},
            Used(input_tokens=5, output_tokens=2),
        ),
        (
            {"input_tokens": 5, "output_tokens": 2, "server_tool_use": {"web_search_requests": 3, "told": "much"}},
            Used(input_tokens=5, output_tokens=2, parts=UsageParts(tools={"web_search": 3})),
        ),
        ({"input_tokens": 0, "output_tokens": 0}, Used(input_tokens=0, output_tokens=0)),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": "9"},
            Used(input_tokens=5, output_tokens=2),
        ),
        ({"input_tokens": "5", "output_tokens": 2}, None),
        ({"input_tokens": True, "output_tokens": 2}, None),
        ({"input_tokens": -1, "output_tokens": 2}, None),
        ({"input_tokens": 10**5000, "output_tokens": 2}, None),
        ({"input_tokens": 5}, None),
        ({}, None),
    ],
)
def test_cached_input_is_counted_into_the_input(usage: dict[str, Any], used: Used | None) -> None:
    assert used_in(usage) == used


async def test_what_was_read_before_the_end_tells_the_input() -> None:
    """Of a stream that breaks off, the vendor's own count of the input is known, with what was cached of it."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 1}
    start = {"type": "message_start", "message": {"id": "x", "usage": usage}}
    word = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "river"}}
    told = await told_by(Anthropic(), [a_stream(start, word)], an_order(stream=True))
    meter = metered(told)
    assert (meter.so_far, meter.reported, meter.output_tokens) == (Usage(105, 1, 100), None, 1)


async def test_an_early_count_of_the_output_is_never_the_last_word() -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 5}}
    meter = metered(await told_by(Anthropic(), [a_stream(start, end)], an_order(stream=True)))
    assert meter.finished
    assert meter.reported is None


def test_a_call_without_arguments_has_none_streamed_as_whole() -> None:
    stream = MessageStream(HEADING)
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    told = stream.read(json.dumps({"type": "content_block_start", "content_block": block}).encode())
    told += stream.read(b'{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}')
    told += stream.read(b'{"type":"content_block_stop"}') + stream.read(b'{"type":"content_block_stop"}')
    calls = [json.loads(data)["choices"][0]["delta"]["tool_calls"][0] for data in events_in(told)]
    assert "".join(call["function"]["arguments"] for call in calls) == "{}"


def test_endless_thoughts_are_told_and_not_kept() -> None:
    stream = MessageStream(HEADING)
    stream.read(b'{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}')
    thought = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "x" * 1_000_000}}
    for _ in range(5):
        assert b"reasoning_content" in stream.read(json.dumps(thought).encode())
    assert stream.read(b'{"type":"content_block_stop"}') == b""


@pytest.mark.parametrize(
    ("reason", "told"),
    [("pause_turn", "stop"), ("model_context_window_exceeded", "length"), ("of_another_year", "stop"), (None, "stop")],
)
def test_the_reason_to_end_is_told(reason: str | None, told: str) -> None:
    answer = json.loads(whole_answer(json.dumps({"content": [], "stop_reason": reason}).encode(), HEADING))
    assert answer["choices"][0]["finish_reason"] == told


async def test_an_answer_without_end_is_too_long() -> None:
    answer = Anthropic().translate(Heard([b" " * 1024 * 1024] * 9), an_order())
    with pytest.raises(AnswerTooLong):
        await answer.read()


async def test_an_error_in_the_stream_is_an_error() -> None:
    told = MessageStream(HEADING).read(b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    (data,) = events_in(told)
    assert Meter().read_event(data) is Event.ERROR


@pytest.mark.parametrize("data", [b"nonsense", b'{"type":"mess', b'{"x":1e999}'])
def test_what_cannot_be_read_to_its_end_is_an_error_to_the_meter(data: bytes) -> None:
    (told,) = events_in(MessageStream(HEADING).read(data))
    assert Meter().read_event(told) is Event.ERROR


@pytest.mark.parametrize(
    "data", [b"null", b"[]", b"{}", b'{"type":"ping"}', b'{"type":"new_kind"}', b'{"type":{"a":1}}', b'{"type":null}']
)
def test_events_that_are_not_known_say_nothing(data: bytes) -> None:
    assert MessageStream(HEADING).read(data) == b""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"content":"text"}',
        b'{"type":"error","error":{}}',
        b'{"type":"error","content":[]}',
    ],
)
def test_a_body_that_is_no_answer_is_none(body: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        whole_answer(body, HEADING)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Your credit balance is too low to access the API. Please go to Plans & Billing.", 402),
        ("This organization has been disabled.", 402),
        ("You have reached your specified API usage limits. You will regain access on 2026-12-01.", 402),
        ("messages.0: 'Your credit balance is too low' is not allowed", 400),
        ("max_tokens: Field required", 400),
    ],
)
def test_an_account_without_credit_is_told_from_a_wrong_request(message: str, status: int) -> None:
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).encode()
    assert Anthropic().meaning(400, body) == status


@pytest.mark.parametrize("body", [b"", b"[]", b'{"error":5}', b'{"error":{"message":5}}'])
def test_a_rejection_of_another_form_keeps_its_status(body: bytes) -> None:
    assert Anthropic().meaning(413, body) == 413


async def test_the_answer_behind_is_the_one_that_is_asked_and_closed() -> None:
    heard = Heard([json.dumps(WHOLES[0]).encode()])
    answer = Anthropic().translate(heard, an_order())
    assert (answer.status, answer.header("retry-after")) == (200, "the retry-after")
    await answer.close()
    assert heard.is_closed


# Whatever the vendor sends.


@settings(max_examples=400, deadline=None)
@given(body=st.sampled_from(WHOLES).flatmap(mangled) | json_values)
def test_any_whole_answer_is_told_or_is_none(body: Any) -> None:
    try:
        told = whole_answer(json.dumps(body).encode(), HEADING)
    except NotAnAnswer:
        return
    WholeMeter().read(told)


@settings(max_examples=400, deadline=None)
@given(events=st.sampled_from(STREAMS).flatmap(mangled) | st.lists(json_values, max_size=4))
def test_any_events_are_told_in_a_form_that_the_meter_reads(events: Any) -> None:
    stream, meter = MessageStream(HEADING), Meter()
    for event in events if isinstance(events, list) else [events]:
        for data in events_in(stream.read(json.dumps(event).encode())):
            assert meter.read_event(data) is not Event.MALFORMED
    assert meter.output_tokens >= 0


def a_stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
