"""Anthropic's answers, whole and streamed: whatever they say, ours can be read by the meter."""

import json

from tollkeeper.providers.vendors.anthropic_to_chat import MessageStream, is_about_the_account, whole_answer
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ANSWER_BYTES_MOST, HEADING, check_stream, check_whole, work_stream, work_whole


def translate(body: bytes) -> bytes:
    return whole_answer(body, HEADING)


def check(data: bytes) -> None:
    check_whole(translate, data)
    check_stream(MessageStream(HEADING), data)
    is_about_the_account(data)


def work(data: bytes) -> None:
    if data.startswith(b"data:"):
        work_stream(MessageStream(HEADING), data)
    else:
        work_whole(translate, data)


def _events(*told: object) -> bytes:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told)


USAGE = {"input_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 1}
WHOLE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}},
    ],
    "stop_reason": "tool_use",
    "usage": {**USAGE, "output_tokens_details": {"thinking_tokens": 1}},
}
STREAM = _events(
    {"type": "message_start", "message": {"id": "msg_1", "usage": USAGE}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
)
CONTENT = b'{"type":"message","content":['
STARTED = b'data: {"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}\n\n'

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        json.dumps(WHOLE).encode(),
        STREAM,
        _events({"type": "ping"}, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        b'{"type":"error","error":{"message":"Your credit balance is too low to go on"}}',
    ),
    words=(b'"type"', b'"content"', b'"usage"', b'"delta"', b'"text"', b'"stop_reason"', b'"tool_use"', b"data: "),
    grown=(
        Grown(b"[", CONTENT + b'{"type":"tool_use","input":', b"}]}", closing=b"]"),
        Grown(b'{"a":', CONTENT + b'{"type":"thinking","x":', b"1}]}", closing=b"}"),
        Grown(b'{"type":"text","text":"a"},', CONTENT, b"{}]}"),
        Grown(b"a", CONTENT + b'{"type":"text","text":"', b'"}]}'),
        Grown(b'data: {"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}}\n\n', STARTED),
        Grown(b'data: {"type":"content_block_stop"}\n\n', STARTED),
        Grown(b'"a1":1,', b'data: {"type":"message_delta","usage":{', b'"a":1}}\n\n'),
    ),
    size_bytes_most=ANSWER_BYTES_MOST,
)
