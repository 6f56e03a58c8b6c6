"""Orders of Responses: refused in our own words, or read; and what a provider of the dialect is sent reads the same."""

import json

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.json_fields import encode
from tollkeeper.core.dialects.responses.order import read_responses
from tollkeeper.core.dialects.responses.tools import VENDORS
from tollkeeper.core.errors import BadRequest
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ORDER_BYTES_MOST

# All that is priced.
ASKED = (*("model", "stream", "max_output_tokens", "media_parts", "media_tokens", "framing_tokens", "texts", "thinks"),)


def check(data: bytes) -> None:
    order = _read(data)
    if order is None or order.native is None:
        return
    try:
        order.native.keep_tools(VENDORS.values())
    except BadRequest:
        return
    sent = encode(order.native.fields)
    assert json.loads(sent)["store"] is False
    again = _read(sent)
    assert again is not None
    assert again.native is not None
    assert [getattr(again, name) for name in ASKED] == [getattr(order, name) for name in ASKED]
    # What was left out may have asked for more, and for nothing else.
    assert again.parts <= order.parts
    assert set(again.extras) <= set(order.extras)
    assert again.native.untranslated_tokens == order.native.untranslated_tokens
    # Another reader finds nothing twice.
    json.loads(sent, object_pairs_hook=_once)
    order.forget_content()


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    assert len(read) == len(pairs), pairs
    return read


def _read(data: bytes) -> ChatOrder | None:
    try:
        return read_responses(data)
    except BadRequest:
        return None


def work(data: bytes) -> None:
    _read(data)


def _body(*items: object, **more: object) -> bytes:
    return json.dumps({"model": "m", "input": [{"role": "user", "content": "Hi, wörld"}, *items], **more}).encode()


TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": True}
CUSTOM = {"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}
SPACE = {"type": "namespace", "name": "n", "tools": [TOOL]}
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
PARTS = [
    {"type": "input_text", "text": "x"},
    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
    {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
]
_INPUT = b'{"model":"m","input":['

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'{"model":"m","input":"Hi","instructions":"Be brief.","stream":true,"max_output_tokens":16}',
        _body(SEALED, {"type": "reasoning", "id": "rs_2", "summary": []}, reasoning={"effort": "low"}),
        _body(CALL, {"type": "function_call_output", "call_id": "c", "output": PARTS}, tools=[TOOL, CUSTOM, SPACE]),
        _body({"role": "user", "content": PARTS}, tools=[{"type": "web_search"}], tool_choice={"type": "web_search"}),
        _body(
            {"type": "custom_tool_call", "call_id": "d", "name": "c", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "d", "output": "y"},
            {
                "role": "assistant",
                "content": [{"type": "output_text", "text": "x"}, {"type": "refusal", "refusal": "n"}],
            },
            text={"format": {"type": "json_schema", "name": "a", "schema": {}}, "verbosity": "low"},
            tools=[TOOL],
            tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            prompt_cache_key="k",
        ),
        _body({"type": "local_shell_call_output", "id": "a", "output": "x"}, store=True, metadata={"a": "b"}),
    ),
    words=tuple(
        f'"{name}"'.encode()
        for name in (
            *("input", "role", "content", "type", "message", "reasoning", "encrypted_content", "function_call"),
            *("function_call_output", "custom_tool_call", "call_id", "name", "namespace", "arguments", "output"),
            *("tools", "tool_choice", "text", "format", "instructions", "compaction", "store", "\\u0074ype", "Content"),
        )
    ),
    grown=(
        Grown(b"a", b'{"model":"m","input":"', b'"}'),
        Grown(b'{"role":"user","content":"a"},', _INPUT, b'{"role":"user","content":"a"}]}'),
        Grown(b'{"role":"assistant","content":"a"},', _INPUT + json.dumps(CALL).encode() + b",", b'{"role":"user"}]}'),
        Grown(json.dumps(CALL).encode() + b",", _INPUT, b'{"role":"user","content":"a"}]}'),
        Grown(b'{"type":"reasoning","summary":[]},', _INPUT, b'{"role":"user","content":"a"}]}'),
        Grown(
            b"1e300,", b'{"model":"m","input":"a","tools":[{"type":"function","name":"a","parameters":{"a":[', b"1]}}]}"
        ),
        Grown(b'{"type":"custom","name":"a"},', b'{"model":"m","input":"a","tools":[', b'{"type":"web_search"}]}'),
        Grown(b'{"a":', b'{"model":"m","input":"a","tools":[{"type":"mcp","x":', b"1}]}", closing=b"}"),
    ),
    size_bytes_most=ORDER_BYTES_MOST,
)
