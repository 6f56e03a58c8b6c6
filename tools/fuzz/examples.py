"""Orders for chat that several targets begin with."""

import json
from collections.abc import Mapping

from tools.fuzz.target import Grown

PIXEL = "data:image/png;base64,iVBORw0KGgo="
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Of a city", "parameters": SCHEMA}}
PARTS: list[Mapping[str, object]] = [
    {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
    {"type": "image_url", "image_url": {"url": PIXEL}},
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}},
]


def _body(*messages: Mapping[str, object], **more: object) -> bytes:
    return json.dumps({"model": "m", "messages": messages, **more}).encode()


USER = {"role": "user", "content": "Hello, wörld"}
CHAT_SEEDS = (
    _body(USER),
    _body({"role": "system", "content": "Be brief."}, USER, stream=True, stream_options={"include_usage": True}),
    _body({"role": "user", "content": PARTS[:2]}, max_tokens=5, n=1, temperature=0.5, top_p=1, stop=["a", "b"]),
    _body({"role": "user", "content": [PARTS[0], PARTS[3]]}, max_completion_tokens=4096, reasoning_effort="low"),
    _body({"role": "user", "content": [PARTS[2]]}, n=2, seed=7, presence_penalty=0.1, user="u"),
    _body(
        USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}],
            "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees":5}'},
        tools=[TOOL],
        tool_choice={"type": "function", "function": {"name": "weather"}},
        parallel_tool_calls=False,
    ),
    _body(
        USER,
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        tool_choice="auto",
    ),
    _body(USER, thinking={"type": "enabled", "budget_tokens": 1024}, service_tier="auto", store=False, metadata={}),
    _body(
        {"role": "developer", "content": "x", "name": "n"},
        {"role": "assistant", "refusal": "no", "content": "no"},
        USER,
    ),
)
CHAT_WORDS = tuple(
    f'"{name}"'.encode()
    for name in (
        *("model", "messages", "role", "content", "stream", "stream_options", "include_usage", "n", "max_tokens"),
        *("max_completion_tokens", "tools", "tool_choice", "tool_calls", "tool_call_id", "function", "arguments"),
        *("response_format", "json_schema", "schema", "reasoning_effort", "thinking", "thinking_blocks", "type"),
        *("text", "refusal", "image_url", "url", "input_audio", "file", "file_data", "file_id", "cache_control"),
        *("system", "user", "assistant", "tool", "developer", "name", "function_call", "extra_content", "Model"),
    )
)
_MESSAGES = b'{"model":"m","messages":['
_CONTENT = _MESSAGES + b'{"role":"user","content":"'
CHAT_GROWN = (
    Grown(b"[", closing=b"]"),
    Grown(b"a", _CONTENT, b'"}]}'),
    Grown(b"\\n", _CONTENT, b'"}]}'),
    Grown(b"\\ud83d\\ude00", _CONTENT, b'"}]}'),
    Grown("é".encode(), _CONTENT, b'"}]}'),
    Grown(b'{"role":"user","content":"a"},', _MESSAGES, b'{"role":"user","content":"a"}]}'),
    Grown(b'{"type":"text","text":"a"},', _MESSAGES + b'{"role":"user","content":[', b'{"type":"text"}]}]}'),
    Grown(b" ", _MESSAGES + b'{"role":"user","content":"a"}]', b"}"),
    Grown(b' ,"a":1', _MESSAGES + b'{"role":"user","content":"a"}]', b"}"),
    Grown(b"\\u0061", b'{"', b'":1,"model":"m","messages":[{"role":"user","content":"a"}]}'),
    Grown(b"[", _MESSAGES + b'{"role":"user","content":"a"}],"tools":', b"}", closing=b"]"),
    Grown(b"1,", _MESSAGES + b'{"role":"user","content":"a"}],"x":[', b"1]}"),
    Grown(b"{},", _MESSAGES + b'{"role":"user","content":"a"}],"x":[', b"{}]}"),
    Grown(b"1e300,", _MESSAGES + b'{"role":"user","content":"a"}],"x":[', b"1]}"),
    Grown(b"9", _MESSAGES + b'{"role":"user","content":"a"}],"n":', b"}"),
    Grown(b"9", _MESSAGES + b'{"role":"user","content":"a"}],"x":0.', b"}"),
    Grown(b";a", _MESSAGES + b'{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a/b', b'"}}]}]}'),
)
