"""Orders of Messages: refused in our own words, or read; and what a provider of the dialect is sent reads the same."""

import json

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.json_fields import encode
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_count, read_messages
from tollkeeper.core.errors import BadRequest
from tools.fuzz.target import Grown, Target
from tools.fuzz.vendors import ORDER_BYTES_MOST

# All that is priced.
ASKED = (*("model", "stream", "max_output_tokens", "media_parts", "media_tokens", "framing_tokens", "texts", "thinks"),)


def check(data: bytes) -> None:
    order = _read(data)
    if order is None:
        return
    assert order.native is not None
    assert order.native.untranslated_tokens >= 0
    again = _read(encode(order.native.fields))
    assert again is not None
    assert again.native is not None
    assert [getattr(again, name) for name in ASKED] == [getattr(order, name) for name in ASKED]
    # What was left out may have asked for more, and for nothing else.
    assert again.parts <= order.parts
    assert set(again.extras) <= set(order.extras)
    # Thoughts without a signature are left out, and nothing else.
    assert again.native.untranslated_tokens <= order.native.untranslated_tokens
    # Another reader finds nothing twice.
    json.loads(encode(order.native.fields), object_pairs_hook=_once)
    counted = read_count(Spoken(data))
    assert counted.native is not None
    assert counted.native.counts_only
    order.forget_content()


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    assert len(read) == len(pairs), pairs
    return read


def _read(data: bytes) -> ChatOrder | None:
    try:
        return read_messages(Spoken(data))
    except BadRequest:
        return None


def work(data: bytes) -> None:
    _read(data)


def _body(*content: object, **more: object) -> bytes:
    turns = [{"role": "user", "content": "Hi, wörld"}, {"role": "assistant", "content": content}]
    return json.dumps({"model": "m", "max_tokens": 9, "messages": turns, **more}).encode()


MARK = {"type": "ephemeral", "ttl": "1h"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
TEXT = {"type": "text", "text": "x", "cache_control": MARK}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
_MESSAGES = b'{"model":"m","max_tokens":9,"messages":['
_BLOCKS = _MESSAGES + b'{"role":"user","content":['

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        _body(TEXT, stream=True, system=[TEXT], cache_control={"type": "ephemeral"}),
        _body({"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "eA=="}),
        _body({"type": "thinking", "thinking": "hm", "signature": ""}, TEXT, thinking={"type": "adaptive"}),
        _body(
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            tools=[{"name": "f", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}],
            tool_choice={"type": "tool", "name": "f"},
        ),
        json.dumps(
            {
                "model": "m",
                "max_tokens": 9,
                "messages": [
                    {"role": "user", "content": [PICTURE, {"type": "text", "text": "x"}]},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "t", "content": [TEXT, PICTURE]}],
                    },
                ],
                "metadata": {"user_id": "u"},
                "output_config": {"effort": "low"},
            }
        ).encode(),
    ),
    words=tuple(
        f'"{name}"'.encode()
        for name in (
            *("messages", "role", "content", "type", "text", "thinking", "signature", "tool_use", "tool_result"),
            *("tool_use_id", "input", "source", "data", "media_type", "cache_control", "ttl", "1h", "system", "tools"),
            *("document", "citations", "search_result", "server_tool_use", "url", "custom", "name", "\\u0074ype"),
        )
    ),
    grown=(
        Grown(b"a", _MESSAGES + b'{"role":"user","content":"', b'"}]}'),
        Grown(b"\\u0022", _MESSAGES + b'{"role":"user","content":"', b'"}]}'),
        Grown(b'{"role":"user","content":"a"},', _MESSAGES, b'{"role":"user","content":"a"}]}'),
        Grown(b'{"type":"text","text":"a"},', _BLOCKS, b'{"type":"text","text":"a"}]}]}'),
        Grown(b'{"type":"thinking","thinking":"a"},', _BLOCKS, b'{"type":"text","text":"a"}]}]}'),
        Grown(b"[", _BLOCKS + b'{"type":"tool_use","id":"t","name":"f","input":', b"}]}]}", closing=b"]"),
        Grown(b"1e300,", _BLOCKS + b'{"type":"tool_use","id":"t","name":"f","input":{"a":[', b"1]}}]}]}"),
        Grown(b'{"name":"a"},', _MESSAGES + b'{"role":"user","content":"a"}],"tools":[', b'{"name":"a"}]}'),
    ),
    size_bytes_most=ORDER_BYTES_MOST,
)
