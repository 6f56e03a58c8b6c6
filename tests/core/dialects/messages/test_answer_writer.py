"""The answer writer of Messages, where a provider does not keep to the form."""

import json

import pytest

from tollkeeper.core.calls.repeated import CALLS_MOST
from tollkeeper.core.dialects.answer_writer import AnswerHeading, Closing
from tollkeeper.core.dialects.messages.answer_writer import MessagesWriter, usage_in_messages
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Usage

CLOSING = Closing(usage=Usage(5, 3))


def a_writer(*, asked_to_think: bool = False) -> MessagesWriter:
    return MessagesWriter(AnswerHeading(request_id="0123", model="ours", input_tokens=5, asked_to_think=asked_to_think))


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"x\\ndata: {}"}',
        b'{"type":"Error\\r\\n"}',
        b'{"type":7}',
        b'{"type":""}',
        b"[]",
        b"not JSON",
        b'{"type":"' + b"x" * 65 + b'"}',
    ],
)
def test_an_event_without_a_plain_kind_is_left_out(data: bytes) -> None:
    assert a_writer().pass_event(data, None) == b""


def test_a_beginning_of_a_block_that_cannot_be_read_is_left_out() -> None:
    assert a_writer().pass_event(b'{"type":"content_block_start","index":0,"x":1e999}', None) == b""


def test_lines_within_an_events_data_stay_within_it() -> None:
    told = a_writer().pass_event(b'{"type":\n"ping"}', None)
    assert told == b'event: ping\ndata: {"type":\ndata: "ping"}\n\n'


@pytest.mark.parametrize("data", [b'{"type":"message_start"}', b'{"type":"message_start","message":7}'])
def test_a_beginning_without_a_message_passes_as_it_is(data: bytes) -> None:
    assert a_writer().pass_event(data, None) == b"event: message_start\ndata: " + data + b"\n\n"


def test_a_stream_whose_end_was_not_told_is_ended() -> None:
    writer = a_writer()
    writer.pass_event(b'{"type":"message_delta"}', None)
    assert writer.end(CLOSING) == b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    writer.pass_event(b'{"type":"message_stop"}', None)
    assert writer.end(CLOSING) == b""


def test_thoughts_are_told_to_those_who_asked_for_them() -> None:
    chunk = b'{"choices":[{"delta":{"reasoning":"Hm"}}]}'
    assert b"Hm" in a_writer(asked_to_think=True).write_chunk(chunk)
    assert b"Hm" not in a_writer().write_chunk(chunk)


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"[]",
        b'{"choices":7}',
        b'{"choices":[7]}',
        b'{"choices":[{"delta":7}]}',
        b'{"choices":[{"delta":{"content":7,"tool_calls":[7,{"index":"x","function":7}]},"finish_reason":7}]}',
    ],
)
def test_whatever_a_chunk_has_in_it_the_events_are_in_order(data: bytes) -> None:
    writer = a_writer()
    told = writer.write_chunk(data) + writer.end(CLOSING)
    names = [line for line in told.split(b"\n") if line.startswith(b"event: ")]
    assert names[0] == b"event: message_start"
    assert names[-2:] == [b"event: message_delta", b"event: message_stop"]
    starts, stops = (names.count(b"event: content_block_" + kind) for kind in (b"start", b"stop"))
    assert starts == stops
    assert json.loads(writer.write_whole(data, CLOSING))["type"] == "message"


def test_cached_and_written_input_are_told_beside_the_input() -> None:
    usage = Usage(100, 7, 20, UsageParts(written_5m=10, written_1h=5))
    assert usage_in_messages(usage) == {
        "input_tokens": 65,
        "cache_creation_input_tokens": 15,
        "cache_read_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 5},
        "output_tokens": 7,
    }


def test_calls_without_number_are_told_up_to_a_bound() -> None:
    writer = a_writer()
    for index in range(CALLS_MOST + 50):
        call = {"index": index, "id": f"c{index}", "function": {"name": "look", "arguments": "{}"}}
        writer.write_chunk(json.dumps({"choices": [{"delta": {"tool_calls": [call]}}]}).encode())
    assert writer.end(Closing(usage=Usage(1))).count(b"event: content_block_stop\n") == CALLS_MOST
