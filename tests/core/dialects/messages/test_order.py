"""Messages orders: what passes, what is left out, what is refused, and what is held for."""

import json
from typing import Any

import pytest

from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, an_account
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.conversation import conversation_by_id
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_count, read_messages
from tollkeeper.core.errors import BadRequest, InvalidParameter, MalformedBody, MissingParameter, UnsupportedParameter
from tollkeeper.core.money.parts import Part
from tollkeeper.ports import Headers

HI: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


def read(headers: dict[str, str] | None = None, **fields: Any) -> ChatOrder:
    return read_messages(Spoken(json.dumps(HI | fields).encode(), headers or {}))


def sent(order: ChatOrder) -> tuple[str, Headers, Any]:
    account = an_account("anthropic")
    address, headers, body = VENDORS["anthropic"].chat(order, account, most_output_tokens=MOST_OUTPUT_TOKENS)
    return address, headers, json.loads(body)


def said_by_user(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": list(blocks)}]


@pytest.mark.parametrize("name", ["model", "messages", "max_tokens"])
def test_what_is_required_is_missed_by_name(name: str) -> None:
    with pytest.raises(MissingParameter) as missing:
        read(**{name: None})
    assert missing.value.param == name


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"mcp_servers": []}, "mcp_servers"),
        ({"container": {"id": "c"}}, "container"),
        ({"speed": "fast"}, "speed"),
        ({"inference_geo": "us"}, "inference_geo"),
        ({"Temperature": 1}, "Temperature"),
        ({"new": 1}, "new"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"service_tier": "priority"}, "service_tier"),
        ({"tools": [{"type": "WEB SEARCH", "name": "x"}]}, "tools[0].type"),
        ({"tools": [{"name": "x", "input_schema": {}, "hidden": 1}]}, "tools[0].hidden"),
        ({"cache_control": {"type": "ephemeral", "ttl": "24h"}}, "cache_control.ttl"),
        ({"messages": said_by_user({"type": "container_upload", "file_id": "f"})}, "messages[0].content[0].type"),
        (
            {"messages": said_by_user({"type": "image", "source": {"type": "file", "file_id": "f"}})},
            "messages[0].content[0].source.type",
        ),
        (
            {"messages": said_by_user({"type": "document", "source": {"type": "url", "url": "https://example.com"}})},
            "messages[0].content[0].source.type",
        ),
        (
            {"messages": said_by_user({"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/x"}})},
            "messages[0].content.source.url",
        ),
        ({"messages": said_by_user({"type": "text", "text": "x", "secret": "y"})}, "messages[0].content[0].secret"),
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, "context_management.edits[0].type"),
    ],
    ids=lambda value: json.dumps(value)[:50] if isinstance(value, dict) else None,
)
def test_what_cannot_be_had_is_refused_by_its_place(fields: dict[str, Any], param: str | None) -> None:
    with pytest.raises(BadRequest) as refused:
        read(**fields)
    assert refused.value.param == param


def test_an_address_within_a_result_of_a_tool_is_looked_at_too() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "http://10.0.0.1/"}}
    with pytest.raises(InvalidParameter, match="public http"):
        read(messages=said_by_user({"type": "tool_result", "tool_use_id": "t", "content": [picture]}))


@pytest.mark.parametrize(
    "inside",
    [
        b'"messages":[{"role":"user","content":[' + b'{"type":"tool_result","content":[' * 5_000,
        b'"messages":[{"role":"user","content":"x"}],"tools":[{"name":"t","input_schema":'
        + b'{"a":' * 5_000
        + b"1"
        + b"}" * 5_000
        + b"}]}",
    ],
    ids=["results", "a schema"],
)
def test_a_body_that_is_nested_without_end_is_malformed(inside: bytes) -> None:
    with pytest.raises(MalformedBody):
        read_messages(Spoken(b'{"model":"m","max_tokens":1,' + inside))


def test_only_listed_betas_are_named_to_the_provider_and_each_once() -> None:
    header = "junk, context-1m-2025-08-07,files-api-2025-04-14\t,context-1m-2025-08-07, effort-2025-11-24 , é"
    _, headers, _ = sent(read({"anthropic-beta": header}))
    assert dict(headers)["anthropic-beta"] == "context-1m-2025-08-07,effort-2025-11-24"
    assert "anthropic-beta" not in dict(sent(read({"anthropic-beta": "junk"}))[1])


def test_the_provider_gets_its_own_key_and_name_of_the_model() -> None:
    address, headers, body = sent(read({"x-api-key": "sk-of-the-caller", "authorization": "Bearer sk-of-the-caller"}))
    assert address.endswith("/v1/messages")
    assert "sk-of-the-caller" not in json.dumps([headers, body])
    assert dict(headers)["x-api-key"] == an_account("anthropic").secret.reveal()


def test_what_an_account_does_not_take_is_spared_or_refused_as_in_chat() -> None:
    account = an_account("anthropic", rejects=frozenset({"top_k", "thinking"}))
    speak = VENDORS["anthropic"].chat
    _, _, body = speak(read(top_k=5), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    assert "top_k" not in json.loads(body)
    with pytest.raises(UnsupportedParameter) as refused:
        speak(read(thinking={"type": "adaptive"}), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    assert refused.value.param == "thinking"


def test_thoughts_without_a_signature_are_left_out_and_all_else_passes_as_it_came() -> None:
    signed = {"type": "thinking", "thinking": "b", "signature": "c2ln"}
    unsigned = {"type": "thinking", "thinking": "a", "signature": ""}
    text = {"type": "text", "text": "x"}
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [unsigned, signed, text]},
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [unsigned]},
        {"role": "user", "content": "!"},
    ]
    _, _, body = sent(read(messages=turns))
    assert body["messages"] == [turns[0], {"role": "assistant", "content": [signed, text]}, turns[2], turns[4]]


def test_thoughts_are_held_for_and_never_told_to_others() -> None:
    thought = {"type": "thinking", "thinking": "secret " * 60, "signature": "c2ln"}
    hidden = {"type": "redacted_thinking", "data": "x" * 300}
    order = read(messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [thought, hidden]}])
    assert b"secret" not in order.body
    assert order.native is not None
    assert order.native.untranslated_tokens == (420 + 300) // 3


@pytest.mark.parametrize(
    ("marks", "parts"),
    [
        ([], set()),
        ([{}], {Part.WRITTEN_5M}),
        ([{"ttl": "5m"}], {Part.WRITTEN_5M}),
        ([{"ttl": "1h"}, {"ttl": None}], {Part.WRITTEN_1H, Part.WRITTEN_5M}),
    ],
)
def test_caches_that_may_be_written_are_held_for(marks: list[Any], parts: set[Part]) -> None:
    blocks = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"} | mark} for mark in marks]
    assert read(system=[*blocks, {"type": "text", "text": "y"}]).parts == parts
    assert read(messages=said_by_user(*blocks, {"type": "text", "text": "y"})).parts == parts
    content = [*blocks, {"type": "text", "text": "y"}]
    for outer in (
        {"type": "document", "source": {"type": "content", "content": content}},
        {"type": "search_result", "source": "s", "title": "t", "content": content},
    ):
        assert read(messages=said_by_user(outer)).parts == parts
        result = {"type": "tool_result", "tool_use_id": "t", "content": [outer]}
        assert read(messages=said_by_user(result)).parts == parts


def test_tools_that_the_provider_runs_are_named_for_their_price_and_those_of_callers_are_not() -> None:
    types = ("web_search_20250305", "bash_20250124", "text_editor_20250728")
    order = read(tools=[{"type": kind, "name": "n"} for kind in types])
    assert order.provider_tools == {"web_search"}
    assert order.native is not None
    assert order.native.only_here == "tools"


def with_tools(tools: bytes) -> ChatOrder:
    return read_messages(Spoken(json.dumps(HI).encode()[:-1] + b', "tools": ' + tools + b"}"))


@pytest.mark.parametrize(
    "tool",
    [
        b'{"type":"web_search_20250305","type":"custom","name":"x","input_schema":{}}',
        b'{"\\u0074ype":"web_search_20250305", "type":"custom", "name":"x"}',
        b'{"name":"x","cache_control":{"type":"ephemeral","ttl":"1h","ttl":"5m"}}',
    ],
    ids=["type", "escaped", "mark"],
)
def test_a_member_of_a_tool_that_stands_twice_is_refused(tool: bytes) -> None:
    with pytest.raises(MalformedBody, match="stands twice"):
        with_tools(b"[" + tool + b"]")


def test_more_tools_than_any_provider_takes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most 4,096 tools"):
        with_tools(b"[" + b",".join([b'{"name":"x"}'] * 4_097) + b"]")


@pytest.mark.parametrize(
    "content",
    [
        b'"all of it","content":"Hi"',
        b'[{"type":"text","text":"all of it","text":"Hi"}]',
        b'[{"type":"text","text":"all of it","\\u0074ext":"\\u0022\\u0022"}]',
        b'[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"all","text":"Hi"}]}]',
        b'[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral","ttl":"1h","ttl":"5m"}}]',
    ],
    ids=["content", "text", "behind numbered quotes", "within a result", "mark"],
)
def test_a_member_of_a_block_that_stands_twice_is_refused(content: bytes) -> None:
    body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":%b}]}' % content
    with pytest.raises(MalformedBody, match="stands twice"):
        read_messages(Spoken(body))


def test_other_tools_pass_byte_for_byte() -> None:
    tools = (
        b'[ {"name" : "x", "input_schema": {"type": "object", "properties": {"type": {"enum": [1.0, 1e2]}}},\n'
        b' "cache_control": {"type": "ephemeral", "ttl": "5m" }}, {"name":"\\u0079","cache_control":null} ]'
    )
    order = with_tools(tools)
    assert order.native is not None
    assert bytes(order.native.fields["tools"]) == tools


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x" * 3_000}},
        {"type": "tool_result", "tool_use_id": "t", "content": "x" * 3_000},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x" * 3_000}]},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x" * 3_000}]},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x" * 3_000}},
    ],
    ids=lambda block: block["type"],
)
def test_blocks_of_callers_in_the_models_turn_are_held_for(block: dict[str, Any]) -> None:
    order = read(messages=[*HI["messages"], {"role": "assistant", "content": [block]}])
    assert order.native is not None
    assert 1_000 <= order.native.untranslated_tokens < 1_100
    asked = read(messages=[*HI["messages"], {"role": "user", "content": [block]}])
    assert asked.native is not None
    assert asked.native.untranslated_tokens == 0


def test_a_conversation_is_known_by_its_session_or_its_user() -> None:
    user = {"user_id": "u" * 600}
    assert read(metadata=user).conversation() == conversation_by_id("u" * 512)
    assert read({"x-claude-code-session-id": "s-1"}, metadata=user).conversation() == conversation_by_id("s-1")
    assert read().conversation() != conversation_by_id("")


def test_an_order_to_be_counted_needs_no_cap_and_is_sent_without_what_does_not_count() -> None:
    asked = {name: value for name, value in HI.items() if name != "max_tokens"} | {"stream": True, "system": "S"}
    order = read_count(Spoken(json.dumps(asked).encode()))
    address, _, body = sent(order)
    assert address.endswith("/v1/messages/count_tokens")
    assert body.keys() == {"model", "messages", "system"}
    assert not order.stream


def test_only_an_order_that_is_answered_needs_a_price_for_an_hours_cache() -> None:
    asked = json.dumps(HI | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}).encode()
    answered, counted = read_messages(Spoken(asked)), read_count(Spoken(asked))
    assert answered.native is not None
    assert counted.native is not None
    assert [extra.what for extra in answered.native.extras] == [Part.WRITTEN_1H]
    assert answered.extras == counted.extras == counted.native.extras == ()


def test_a_parameter_that_is_null_is_none() -> None:
    _, _, body = sent(read(mcp_servers=None, top_k=None))
    assert body.keys() == HI.keys()


def test_forgotten_content_is_forgotten_in_both_forms() -> None:
    order = read()
    order.forget_content()
    assert (order.body, order.native and order.native.fields) == (b"", {})


def test_what_is_not_listed_says_what_to_do() -> None:
    with pytest.raises(UnsupportedParameter, match="Nothing was charged"):
        read(new=1)
