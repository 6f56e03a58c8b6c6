"""Writing responses: what a native account says passes, and what cannot go on says so."""

import json
from typing import Any

import msgspec
import pytest

from tollkeeper.core.dialects.answer_writer import AnswerHeading, Closing
from tollkeeper.core.dialects.responses.answer import ResponseEcho
from tollkeeper.core.dialects.responses.answer_writer import ResponsesWriter
from tollkeeper.core.errors import StreamBroken
from tollkeeper.core.money.prices import Usage

HEADING = AnswerHeading(request_id="7", model="ours", input_tokens=5)


def a_writer(*, may_end_short: bool = False) -> ResponsesWriter:
    heading = msgspec.structs.replace(HEADING, may_end_short=may_end_short)
    return ResponsesWriter(heading, ResponseEcho.of("ours", {}), {})


def native(kind: str, number: int, **members: Any) -> bytes:
    return json.dumps({"type": kind, "sequence_number": number, **members}, separators=(",", ":")).encode()


CREATED = native("response.created", 0, response={"id": "resp_9", "model": "theirs", "status": "in_progress"})
DELTA = native("response.output_text.delta", 2, item_id="msg_1", delta="Hi")


def datas(stream: bytes) -> list[dict[str, Any]]:
    return [json.loads(block.partition(b"data: ")[2]) for block in stream.split(b"\n\n") if block]


def test_that_a_response_was_created_is_told_with_its_first_word() -> None:
    writer = a_writer()
    assert writer.pass_event(CREATED, None) == b""
    assert writer.pass_event(native("response.in_progress", 1, response={"model": "theirs"}), None) == b""
    told = writer.pass_event(DELTA, None)
    assert [data["type"] for data in datas(told)] == [
        "response.created",
        "response.in_progress",
        "response.output_text.delta",
    ]
    assert writer.pass_event(DELTA, None) == b"event: response.output_text.delta\ndata: " + DELTA + b"\n\n"


def test_of_what_waits_only_the_last_of_each_kind_is_kept() -> None:
    writer = a_writer()
    writer.pass_event(CREATED, None)
    for number in range(1, 1_000):
        writer.pass_event(native("response.in_progress", number, response={"model": "theirs"}), None)
    told = datas(writer.pass_event(DELTA, None))
    assert [(data["type"], data["sequence_number"]) for data in told] == [
        ("response.created", 0),
        ("response.in_progress", 999),
        ("response.output_text.delta", 2),
    ]


@pytest.mark.parametrize("kind", ["completed", "incomplete"])
def test_the_models_name_is_ours_and_all_else_as_it_came(kind: str) -> None:
    sent = {
        "id": "resp_9",
        "model": "theirs",
        "output": [{"id": "rs_1", "encrypted_content": "gAAA"}],
        "usage": {"a": 1},
    }
    told = a_writer().pass_event(native(f"response.{kind}", 3, response=sent), None)
    assert datas(told)[0]["response"] == sent | {"model": "ours"}
    whole = a_writer().pass_whole(json.dumps(sent).encode())
    assert json.loads(whole) == sent | {"model": "ours"}


def test_a_native_stream_that_breaks_fails_under_its_own_id_and_with_the_next_number() -> None:
    writer = a_writer()
    writer.pass_event(CREATED, None)
    writer.pass_event(DELTA, None)
    [failed] = datas(writer.fail(StreamBroken()))
    assert (failed["type"], failed["sequence_number"]) == ("response.failed", 3)
    assert (failed["response"]["id"], failed["response"]["status"]) == ("resp_9", "failed")
    assert failed["response"]["error"]["code"] == "stream_broken"


def test_a_native_stream_that_breaks_before_its_first_word_was_created_all_the_same() -> None:
    writer = a_writer()
    writer.pass_event(CREATED, None)
    assert [data["type"] for data in datas(writer.fail(StreamBroken()))] == ["response.created", "response.failed"]


def test_a_native_stream_has_said_everything_at_its_end() -> None:
    writer = a_writer()
    writer.pass_event(DELTA, None)
    assert writer.end(Closing(usage=Usage(1, 2))) == b""


def test_where_no_report_came_our_own_count_is_told() -> None:
    writer = a_writer()
    writer.write_chunk(b'{"created":7,"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}')
    final = datas(writer.end(Closing(usage=Usage(11, 2, 3))))[-1]["response"]
    assert (final["usage"]["input_tokens"], final["usage"]["output_tokens"]) == (11, 2)
    assert final["usage"]["input_tokens_details"]["cached_tokens"] == 3


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[1]", b'{"type":5}', b'{"type":"response.created","sequence_number":0}', b'{"type":"a\\nb"}', b"\xff"),
        b'{"type":"response.created","sequence_number":0,"response":"\xff"}',
        b'{"type":"response.output_item.done","sequence_number":0,"output_index":"x"}',
        b'{"type":"response.output_item.added","sequence_number":0,"output_index":0,"item":7}',
        b'{"type":"response.output_text.delta","sequence_number":0,"output_index":0,"delta":[]}',
    ],
)
def test_nothing_that_a_provider_could_send_is_an_exception(data: bytes) -> None:
    writer = a_writer(may_end_short=True)
    for told in (writer.write_chunk(data), writer.pass_event(data, None), writer.pass_whole(data)):
        assert isinstance(told, bytes)
    assert writer.end_short(Closing(usage=Usage(1, 2)))
    assert writer.fail(StreamBroken())


def test_a_stream_that_fails_before_it_was_begun_is_an_error_alone() -> None:
    [failed] = datas(a_writer().fail(StreamBroken()))
    assert (failed["type"], failed["code"], failed["sequence_number"]) == ("error", "stream_broken", 0)


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "look", "arguments": "", "status": "in_progress"}
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}


def test_a_native_stream_that_ends_early_repeats_what_was_said_and_closes_what_is_open() -> None:
    writer = a_writer(may_end_short=True)
    writer.pass_event(CREATED, None)
    for number, (kind, members) in enumerate(
        [
            ("output_item.added", {"output_index": 0, "item": THOUGHT}),
            ("output_item.done", {"output_index": 0, "item": THOUGHT}),
            ("output_item.added", {"output_index": 1, "item": MESSAGE}),
            ("content_part.added", {"output_index": 1, "content_index": 0, "part": {"type": "output_text"}}),
            ("output_text.delta", {"output_index": 1, "content_index": 0, "delta": "Hi"}),
            ("output_text.delta", {"output_index": 1, "content_index": 0, "delta": " there"}),
            ("output_item.added", {"output_index": 2, "item": CALL}),
            ("function_call_arguments.delta", {"output_index": 2, "delta": '{"a'}),
        ],
        1,
    ):
        writer.pass_event(native(f"response.{kind}", number, **members), None)
    told = datas(writer.end_short(Closing(usage=Usage(5, 9))))
    assert [(data["type"].removeprefix("response."), data["sequence_number"]) for data in told] == [
        ("output_text.done", 9),
        ("content_part.done", 10),
        ("output_item.done", 11),
        ("output_item.done", 12),
        ("incomplete", 13),
    ]
    assert (told[0]["item_id"], told[0]["output_index"], told[0]["text"]) == ("msg_1", 1, "Hi there")
    final = told[-1]["response"]
    spoken = [{"type": "output_text", "text": "Hi there", "annotations": []}]
    assert final["output"] == [
        THOUGHT,
        MESSAGE | {"status": "incomplete", "content": spoken},
        CALL | {"status": "incomplete", "arguments": '{"a'},
    ]
    assert (final["id"], final["status"]) == ("resp_9", "incomplete")
    assert final["incomplete_details"] == {"reason": "max_output_tokens"}
    assert (final["usage"]["input_tokens"], final["usage"]["output_tokens"]) == (5, 9)
