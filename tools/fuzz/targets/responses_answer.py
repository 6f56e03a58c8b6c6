"""Responses as a provider tells them, whole and streamed: whatever they say, the meter can read what we make of it."""

import json

from tollkeeper.providers.vendors.responses_to_chat import ResponseStream, whole_answer
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ANSWER_BYTES_MOST, HEADING, check_stream, check_whole, work_stream, work_whole


def translate(body: bytes) -> bytes:
    return whole_answer(body, HEADING)


def check(data: bytes) -> None:
    check_whole(translate, data)
    check_stream(ResponseStream(HEADING), data)


def work(data: bytes) -> None:
    if data.startswith(b"data:"):
        work_stream(ResponseStream(HEADING), data)
    else:
        work_whole(translate, data)


def _events(*told: dict[str, object]) -> bytes:
    numbered = ({**one, "sequence_number": at} for at, one in enumerate(told))
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in numbered)


USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 16,
}
THOUGHTS = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
WORDS = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
WHOLE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "output": [THOUGHTS, SEARCH, WORDS, CALL],
    "usage": USAGE,
}
PLACE = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
_DELTA = b'data: {"type":"response.output_text.delta","item_id":"a","delta":"b"}\n\n'

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        json.dumps(WHOLE).encode(),
        json.dumps({**WHOLE, "status": "incomplete", "incomplete_details": {"reason": "content_filter"}}).encode(),
        _events(
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**THOUGHTS, "summary": []}},
            {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "delta": "hm"},
            {"type": "response.output_item.done", "output_index": 0, "item": THOUGHTS},
            {"type": "response.output_item.added", "output_index": 1, "item": {**WORDS, "content": []}},
            {"type": "response.output_text.delta", **PLACE, "delta": "Hi"},
            {"type": "response.output_item.done", "output_index": 1, "item": WORDS},
            {"type": "response.output_item.added", "output_index": 2, "item": {**CALL, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"a":1}'},
            {"type": "response.output_item.done", "output_index": 2, "item": CALL},
            {"type": "response.output_item.done", "output_index": 3, "item": SEARCH},
            {"type": "response.completed", "response": WHOLE},
        ),
        _events({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}),
        _events({"type": "error", "code": "rate_limit_exceeded", "message": "x"}),
    ),
    words=(
        *(b'"type"', b'"response"', b'"item"', b'"item_id"', b'"delta"', b'"output"', b'"usage"', b'"status"'),
        *(b'"response.completed"', b'"response.output_item.done"', b'"message"', b'"summary"', b"data: "),
    ),
    grown=(
        Grown(_DELTA),
        Grown(b'data: {"type":"response.output_item.added","item":{"type":"function_call"}}\n\n'),
        Grown(b'{"type":"message","content":[{"type":"output_text","text":"a"}]},', b'{"output":[', b"{}]}"),
        Grown(b'{"type":"web_search_call"},', b'{"object":"response","output":[', b"{}]}"),
        Grown(b"[", b'{"object":"response","output":', b"}", closing=b"]"),
        Grown(b'{"a":', b'data: {"type":"response.output_item.done","item":', b"1}\n\n", closing=b"}"),
        Grown(b"a", b'data: {"type":"response.output_text.delta","delta":"', b'"}\n\n'),
    ),
    size_bytes_most=ANSWER_BYTES_MOST,
)
