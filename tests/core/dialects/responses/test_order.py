"""Responses orders: what is refused, what is left out, and what is counted."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec import Raw

from tests.core.calls.test_chat import json_values
from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.conversation import conversation_by_id
from tollkeeper.core.calls.json_fields import encode
from tollkeeper.core.dialects.responses.items import InputReader
from tollkeeper.core.dialects.responses.order import read_responses
from tollkeeper.core.dialects.responses.tools import flat_name
from tollkeeper.core.errors import BadRequest, InvalidParameter, MalformedBody, MissingParameter, UnsupportedParameter

WEB = {"type": "web_search", "external_web_access": False}
FUNCTION = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}


def read(**fields: Any) -> ChatOrder:
    return read_responses(json.dumps({"model": "m", "input": "Hi"} | fields).encode())


def native_body(order: ChatOrder, *priced: str) -> dict[str, Any]:
    """What an account that speaks the protocol is sent, at a price with these tools."""
    assert order.native is not None
    order.native.keep_tools(priced)
    body: dict[str, Any] = json.loads(encode(order.native.fields))
    return body


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "send the whole conversation as input"),
        ({"conversation": "conv_1"}, "conversation", "send the whole conversation as input"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "send their text"),
        ({"background": True}, "background", "stream the answer"),
        ({"service_tier": "priority"}, "service_tier", "one price"),
        ({"top_logprobs": 3}, "top_logprobs", "/v1/chat/completions"),
        ({"include": ["message.input_image.image_url"]}, "include", "reasoning.encrypted_content"),
        ({"surprise": 1}, "surprise", "does not know it"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]", "send the item itself"),
        ({"input": [{"id": "msg_1"}]}, "input[0]", "send the item itself"),
        ({"input": [{"type": "additional_tools", "tools": [WEB]}]}, "input[0].type", "not known here"),
        ({"input": [{"role": "user", "content": "x", "Content": "y"}]}, "input[0].Content", "small letters"),
        ({"input": [{"role": "critic", "content": "x"}]}, "input[0].role", "developer"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]},
            "input[0].content[0].file_id",
            "cannot be used",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://10.0.0.1/a.png"}]}]},
            "input[0].content[0].image_url",
            "public",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://a.example/a.pdf"}]}]},
            "input[0].content[0].file_url",
            "data URL",
        ),
        ({"tools": [{"type": "telepathy"}]}, "tools[0]", "telepathy"),
        ({"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}, "tools[0].vector_store_ids", "not yours"),
        ({"tools": [{"type": "code_interpreter", "container": "cntr_1"}]}, "tools[0].container", "not yours"),
        (
            {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}]},
            "tools[0].file_ids",
            "not yours",
        ),
        (
            {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "64g"}}]},
            "tools[0].container.memory_limit",
            "must be 1g",
        ),
        ({"tools": [{"type": "mcp", "connector_id": "connector_mail"}]}, "tools[0].connector_id", "not yours"),
        (
            {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "skills": [{"skill_id": "s_1"}]}}]},
            "tools[0].skill_id",
            "not yours",
        ),
        ({"tools": [{"type": "shell"}]}, "tools[0].environment", "run it yourself"),
        (
            {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
            "tools[0].environment",
            "run it yourself",
        ),
        ({"tools": [{"type": "programmatic_tool_calling"}]}, "tools[0]", "leave it out"),
        ({"input": [{"type": "tool_search_output", "tools": [WEB]}]}, "input[0]", "name its tools there"),
        (
            {"input": [{"type": "code_interpreter_call", "code": "1", "container_id": "cntr_1"}]},
            "input[0].container_id",
            "not yours",
        ),
        (
            {"input": [{"type": "shell_call", "environment": {"type": "x", "container_id": "cntr_1"}}]},
            "input[0].container_id",
            "not yours",
        ),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "leap"}}, "tool_choice", "among the tools"),
        ({"tools": [FUNCTION], "tool_choice": "always"}, "tool_choice", "auto, none, required"),
        ({"max_output_tokens": 0}, "max_output_tokens", "whole number"),
        ({"input": []}, "input", "required"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_done_is_refused_by_its_place_and_says_what_to_do(
    fields: dict[str, Any], param: str, words: str
) -> None:
    with pytest.raises(BadRequest) as refusal:
        read(**fields)
    assert refusal.value.param == param
    assert words in refusal.value.message


def test_an_order_without_a_model_or_an_input_is_refused() -> None:
    for body in (b'{"input":"Hi"}', b'{"model":"m"}'):
        with pytest.raises(MissingParameter):
            read_responses(body)


def test_nothing_is_ever_stored_at_a_provider() -> None:
    order = read(store=True, metadata={"a": "b"}, client_metadata={"c": "d"}, prompt_cache_retention="24h")
    assert native_body(order) == {"model": "m", "input": "Hi", "store": False}


def test_a_tool_of_the_vendors_passes_where_it_has_a_price_and_is_left_out_where_not() -> None:
    order = read(tools=[FUNCTION, WEB], tool_choice="auto")
    assert native_body(order)["tools"] == [FUNCTION]
    assert native_body(order, "web_search")["tools"] == [FUNCTION, WEB]


def test_where_no_tool_is_left_neither_is_a_choice_among_them() -> None:
    order = read(tools=[WEB], tool_choice="auto", parallel_tool_calls=True)
    assert native_body(order) == {"model": "m", "input": "Hi", "store": False}


@pytest.mark.parametrize("choice", ["required", {"type": "web_search_preview"}], ids=["any", "that one"])
def test_a_tool_of_the_vendors_that_is_demanded_needs_a_price(choice: object) -> None:
    order = read(tools=[WEB], tool_choice=choice)
    if choice == "required":
        with pytest.raises(UnsupportedParameter, match="no price for a use"):
            native_body(order)
    else:
        assert order.provider_tools == {"web_search"}
    assert native_body(order, "web_search")["tool_choice"] == choice


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "local_shell"}]},
        {"tools": [{"type": "shell", "environment": {"type": "local"}}]},
        {"tools": [WEB], "tool_choice": {"type": "web_search"}},
        {"input": [{"role": "user", "content": "Hi"}, {"type": "compaction", "encrypted_content": "gAAAA"}]},
        {"input": [{"role": "user", "content": "Hi"}, {"type": "local_shell_call_output", "id": "a", "output": "x"}]},
    ],
    ids=["a shell of the caller's", "a newer one", "a vendor's tool by choice", "a sealed history", "a shell's result"],
)
def test_what_only_the_protocol_itself_can_say_is_for_native_accounts_alone(fields: dict[str, Any]) -> None:
    order = read(**fields)
    assert order.native is not None
    assert order.native.only_here
    assert "input" in native_body(order, "web_search")


def test_thoughts_that_nobody_has_sealed_pass_to_nobody() -> None:
    """They were told by us, of a vendor that was translated; a provider that stores nothing does not know them."""
    hi, thoughts = {"role": "user", "content": "Hi"}, {"type": "reasoning", "id": "rs_1", "summary": []}
    order = read(input=[hi, thoughts, thoughts | {"encrypted_content": "gAAAA"}, hi | {"content": "And?"}])
    kept = [hi, thoughts | {"encrypted_content": "gAAAA"}, hi | {"content": "And?"}]
    assert native_body(order)["input"] == kept
    assert [message["content"] for message in json.loads(order.body)["messages"]] == ["Hi", "And?"]


def test_sealed_thoughts_are_held_for_by_their_size_and_counted_by_nobody() -> None:
    plain = read(input=[{"role": "user", "content": "Hi"}])
    summary = [{"type": "summary_text", "text": "so " * 100}]
    sealed = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "g" * 1_000}
    thoughtful = read(input=[{"role": "user", "content": "Hi"}, sealed])
    assert thoughtful.native is not None
    assert thoughtful.native.untranslated_tokens == -(-len(json.dumps(sealed)) // 5)
    assert thoughtful.input_tokens(part_tokens=0) == plain.input_tokens(part_tokens=0)
    assert native_body(thoughtful)["input"][1] == sealed


def test_what_a_vendors_tool_has_done_is_held_for_by_its_size() -> None:
    done = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "a b c d e f"}}
    order = read(input=[{"role": "user", "content": "Hi"}, done])
    assert order.native is not None
    assert order.native.untranslated_tokens > 10
    assert not order.native.only_here


def test_what_is_said_with_calls_is_put_together_once() -> None:
    call: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    pictured: dict[str, Any] = {"role": "assistant", "content": [picture]}
    said: list[dict[str, Any]] = [{"role": "assistant", "content": text} for text in ("one", "", "two")]
    reader = InputReader()
    for item in (call, *said):
        reader.add(Raw(encode(item)), 0)
    # Nothing is copied while more may come: thousands of messages would copy all before them each time.
    assert reader.read.messages[-1]["content"] is None
    assert reader.end().messages[-1]["content"] == "one\ntwo"
    reader = InputReader()
    for item in (call, *said, pictured):
        reader.add(Raw(encode(item)), 0)
    assert [part["type"] for part in reader.end().messages[-1]["content"]] == ["text", "text", "image_url"]


def test_the_key_of_a_cache_says_whose_conversation_it_is() -> None:
    assert read(prompt_cache_key="thread-7").conversation() == conversation_by_id("thread-7")


def test_names_that_chat_could_not_carry_are_shortened_and_stay_apart() -> None:
    names = {flat_name("n" * length, "space") for length in range(50, 60)}
    assert len(names) == 10
    assert max(map(len, names)) <= 64


@pytest.mark.parametrize("place", ["input", "tools", "tool_choice", "text", "reasoning", "include", "instructions"])
@settings(max_examples=25)
@given(value=json_values)
def test_whatever_is_sent_is_read_or_refused(place: str, value: Any) -> None:
    for sent in (value, [value], [{"type": "message", "role": "user", "content": value}], [{"type": value}]):
        with contextlib.suppress(BadRequest):
            native_body(read(**{place: sent}))


@pytest.mark.parametrize("kind", ["function", "custom", "namespace", "shell", "web_search", "mcp", "code_interpreter"])
@settings(max_examples=25)
@given(value=json_values)
def test_whatever_a_tool_is_it_is_read_or_refused(kind: str, value: Any) -> None:
    names = ("name", "description", "parameters", "format", "tools", "environment", "container")
    for name in names:
        with contextlib.suppress(BadRequest):
            read(tools=[{"type": kind, "name": "a", name: value}], tool_choice={"type": kind, "name": "a"})
    with contextlib.suppress(BadRequest):
        read(tools=[FUNCTION], tool_choice={"type": "allowed_tools", "mode": value, "tools": value})


@pytest.mark.parametrize(
    "kind", ["function_call", "function_call_output", "custom_tool_call", "reasoning", "compaction"]
)
@settings(max_examples=25)
@given(value=json_values)
def test_whatever_an_item_has_it_is_read_or_refused(kind: str, value: Any) -> None:
    for name in ("call_id", "name", "namespace", "arguments", "input", "output", "encrypted_content", "summary"):
        with contextlib.suppress(BadRequest):
            read(input=[{"type": kind, "call_id": "c", "name": "n", name: value}])


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","input":"Hi","tools":[{"type":"web_search","type":"function","name":"look"}]}',
        b'{"model":"m","input":[{"role":"user","content":"all of it","content":"Hi"}]}',
        b'{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"long","text":"Hi"}]}]}',
    ],
    ids=["a tool", "a message", "a part"],
)
def test_what_two_readers_could_read_differently_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody, match="stands twice"):
        read_responses(body)


def test_more_tools_than_any_provider_takes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most 4,096 tools"):
        read(tools=[FUNCTION] * 4_097)


def test_an_allowed_tool_whose_type_is_no_text_is_none() -> None:
    allowed = [
        {"type": ["function"], "name": "look"},
        {"type": {}, "name": "look"},
        {"type": "function", "name": "look"},
    ]
    order = read(tools=[FUNCTION], tool_choice={"type": "allowed_tools", "mode": "auto", "tools": allowed})
    assert [tool["function"]["name"] for tool in json.loads(order.body)["tools"]] == ["look"]


def test_another_mode_of_reasoning_is_refused() -> None:
    with pytest.raises(BadRequest, match="standard"):
        read(reasoning={"mode": "pro"})


def test_of_allowed_tools_those_without_a_price_are_left_out() -> None:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [WEB, {"type": "function", "name": "look"}]}
    asked = {"tools": [WEB, FUNCTION], "tool_choice": allowed}
    assert native_body(read(**asked), "web_search")["tool_choice"] == allowed
    body = native_body(read(**asked))
    assert body["tools"] == [FUNCTION]
    assert body["tool_choice"] == allowed | {"tools": [{"type": "function", "name": "look"}]}
    only = allowed | {"tools": [WEB]}
    assert native_body(read(tools=[WEB, FUNCTION], tool_choice=only))["tool_choice"] == "none"
    with pytest.raises(UnsupportedParameter, match="no price for a use"):
        native_body(read(tools=[WEB, FUNCTION], tool_choice=only | {"mode": "required"}))
