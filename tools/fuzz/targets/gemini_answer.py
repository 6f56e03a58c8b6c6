"""Gemini's answers, whole and streamed: whatever they say, ours can be read by the meter."""

import json

from tollkeeper.providers.vendors.gemini_to_chat import (
    ContentStream,
    is_about_the_account,
    is_about_the_key,
    whole_answer,
)
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ANSWER_BYTES_MOST, HEADING, check_stream, check_whole, work_stream, work_whole


def translate(body: bytes) -> bytes:
    return whole_answer(body, HEADING, one_tool_call=True)


def check(data: bytes) -> None:
    check_whole(translate, data)
    for one_tool_call in (False, True):
        check_stream(ContentStream(HEADING, one_tool_call=one_tool_call), data)
    is_about_the_account(data)
    is_about_the_key(data)


def work(data: bytes) -> None:
    if data.startswith(b"data:"):
        work_stream(ContentStream(HEADING, one_tool_call=False), data)
    else:
        work_whole(translate, data)


USAGE = {"promptTokenCount": 9, "cachedContentTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}
WHOLE = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
                    {"text": "Hi"},
                    {"functionCall": {"name": "f", "args": {"a": [1]}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "7", "name": "g"}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
        },
        {"content": {"parts": [{"text": "Ho"}]}, "finishReason": "MAX_TOKENS", "index": 1},
    ],
    "usageMetadata": USAGE,
    "responseId": "r",
}


def _event(told: object) -> bytes:
    return b"data: " + json.dumps(told).encode() + b"\r\n\r\n"


PARTS = b'{"candidates":[{"content":{"parts":['

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        json.dumps(WHOLE).encode(),
        _event({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}], "usageMetadata": USAGE}) + _event(WHOLE),
        _event({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE}),
        _event({"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}),
        b'{"error":{"status":"FAILED_PRECONDITION","details":[{"reason":"API_KEY_INVALID"}]}}',
    ),
    words=(
        b'"candidates"',
        b'"content"',
        b'"parts"',
        b'"text"',
        b'"functionCall"',
        b'"finishReason"',
        b'"index"',
        b"data: ",
    ),
    grown=(
        Grown(b"[", PARTS + b'{"functionCall":{"args":{"a":', b"}}}]}}]}", closing=b"]"),
        Grown(b'{"text":"a"},', PARTS, b"{}]}}]}"),
        Grown(b'{"functionCall":{}},', PARTS, b"{}]}}]}"),
        Grown(b'{"finishReason":"STOP"},', b'{"candidates":[', b"{}]}"),
        Grown(b'{"index":1,"finishReason":"STOP"},', b'data: {"candidates":[', b"{}]}"),
        Grown(b"a", PARTS + b'{"text":"', b'"}]}}]}'),
        Grown(b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n'),
    ),
    size_bytes_most=ANSWER_BYTES_MOST,
)
