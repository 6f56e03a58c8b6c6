"""Anthropic's format as bytes: the frame of its stream, and everything that it refuses."""

import base64
import json
from typing import Any

import msgspec
import pytest

from tests.simulator.formats import ANTHROPIC
from tests.simulator.raw import unchunked
from tollkeeper_simulator.dialects.anthropic.signature import signature_of
from tools.simulator import Simulator

BLANK: dict[str, Any] = {"model": "m", "max_tokens": 2_048, "messages": [{"role": "user", "content": "hi"}]}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": signature_of("hm")}
TOOL = {"name": "f", "input_schema": {"type": "object"}}


def talk(*contents: Any) -> dict[str, Any]:
    """A conversation in turns, the user's first."""
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[at % 2], "content": content} for at, content in enumerate(contents)]}


def picture(**source: str) -> dict[str, Any]:
    return talk([{"type": "image", "source": source}])


async def test_each_event_has_its_name_and_its_data(sim: Simulator) -> None:
    seen = await ANTHROPIC.call(sim, "[[tokens=2 thinking=1]]", stream=True)
    events = unchunked(seen.body).decode().removesuffix("\n\n").split("\n\n")
    assert all(event.count("\n") == 1 for event in events)
    named = [(event.split("\n")[0], json.loads(event.split("\n")[1].removeprefix("data: "))) for event in events]
    assert all(name == f"event: {data['type']}" for name, data in named)
    assert [data["type"] for _, data in named] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    deltas = [data["delta"]["type"] for _, data in named if data["type"] == "content_block_delta"]
    assert deltas == ["thinking_delta", "signature_delta", "text_delta", "text_delta"]
    assert f"request-id: {seen.request_id}" in seen.head


async def test_an_error_event_is_named_so(sim: Simulator) -> None:
    seen = await ANTHROPIC.call(sim, "[[error_at=1]]", stream=True)
    last = unchunked(seen.body).decode().removesuffix("\n\n").split("\n\n")[-1]
    assert last.startswith("event: error\ndata: ")
    told = json.loads(seen.events[-1])
    assert told["error"] == {"type": "overloaded_error", "message": "Overloaded"}


async def test_the_version_is_wanted(sim: Simulator) -> None:
    unversioned = msgspec.structs.replace(ANTHROPIC, headers={})
    seen = await unversioned.send(sim, BLANK)
    told = json.loads(seen.body)
    assert (seen.status, told["type"], told["error"]["type"]) == (400, "error", "invalid_request_error")
    assert "anthropic-version" in told["error"]["message"]
    assert told["request_id"] == seen.request_id


GOOD: dict[str, dict[str, Any]] = {
    "a conversation": talk("hi", "hello", "and now?"),
    "an answer begun": talk("hi", "The answer is ("),
    "two turns of one": {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
    "a tool and its result": talk("hi", [USE], [RESULT, {"type": "text", "text": "so?"}]) | {"tools": [TOOL]},
    "a failed tool with a picture": talk(
        "hi", [USE], [RESULT | {"content": [{"type": "text", "text": "x"}], "is_error": True}]
    ),
    "thoughts that came back": talk("hi", [THOUGHT, USE], [RESULT]) | THINKING,
    "thoughts that nobody wants": talk("hi", [THOUGHT | {"signature": "old"}, USE], [RESULT]),
    "thoughts that were redacted": talk("hi", [{"type": "redacted_thinking", "data": "x"}, USE], [RESULT]) | THINKING,
    "an older loop without thoughts": talk("hi", [USE], [RESULT], "done", "next") | THINKING,
    "system in blocks": {"system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]},
    "settings": {"temperature": 0.5, "top_p": 0.9, "top_k": 3, "stop_sequences": ["x"], "metadata": {"user_id": "u"}},
    "a forced tool": {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "f"}},
    "a tool of the vendor": {"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]},
    "a document": talk([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]),
}


@pytest.mark.parametrize("fields", GOOD.values(), ids=GOOD)
async def test_what_the_vendor_takes_is_taken(sim: Simulator, fields: dict[str, Any]) -> None:
    seen = await ANTHROPIC.send(sim, BLANK | fields)
    assert seen.status == 200, seen.body


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no cap": ({"max_tokens": None}, "max_tokens: Input should be a valid integer"),
    "a cap of nothing": ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    "an unknown field": ({"n": 2}, "n: Extra inputs are not permitted"),
    "an unknown field of a message": (
        {"messages": [{"role": "user", "content": "a", "name": "b"}]},
        "messages.0.name: Extra inputs are not permitted",
    ),
    "an unknown field of a block": (
        talk([{"type": "text", "text": "a", "x": 1}]),
        "messages.0.content.0.text.x: Extra inputs are not permitted",
    ),
    "no messages": ({"messages": []}, "messages: at least one message is required"),
    "a system message": ({"messages": [{"role": "system", "content": "a"}]}, 'Unexpected role "system"'),
    "a tool's message": (
        {"messages": [{"role": "tool", "content": "a"}]},
        "messages.0.role: Input should be 'user' or",
    ),
    "an assistant first": (
        {"messages": [{"role": "assistant", "content": "a"}]},
        'first message must use the "user" role',
    ),
    "no content": (talk(""), "messages.0: all messages must have non-empty content"),
    "an empty text": (talk([{"type": "text", "text": ""}]), "messages: text content blocks must be non-empty"),
    "an empty system text": ({"system": [{"type": "text", "text": ""}]}, "text content blocks must be non-empty"),
    "space at the end": (talk("hi", "so "), "final assistant content cannot end with trailing whitespace"),
    "a block of no kind": (talk([{"type": "image_url"}]), "messages.0.content.0: Input tag 'image_url' found"),
    "a tool used by the user": (talk([USE]), "messages.0.content.0: Input tag 'tool_use' found"),
    "a result of nothing": (talk([RESULT]), "messages.0.content.0: unexpected `tool_use_id` found"),
    "a result of another": (
        talk("a", [USE], [RESULT, RESULT | {"tool_use_id": "x"}]),
        "messages.2.content.1: unexpected",
    ),
    "no result": (talk("a", [USE], "b"), "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    "a result too late": (
        talk("a", [USE], [{"type": "text", "text": "b"}, RESULT]),
        "messages.1: `tool_use` ids were found",
    ),
    "one of two results": (talk("a", [USE, USE | {"id": "y"}], [RESULT]), "immediately after: y."),
    "two uses with one id": (talk("a", [USE, USE], [RESULT]), "`tool_use` ids must be unique"),
    "an id with signs": (talk("a", [USE | {"id": "call:1"}]), "messages.1.content.0.tool_use.id: String should match"),
    "arguments in text": (talk("a", [USE | {"input": "{}"}]), "tool_use.input: Input should be a valid dictionary"),
    "little thinking": (
        {"thinking": {"type": "enabled", "budget_tokens": 1_023}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "more thinking than answer": (
        {"thinking": {"type": "enabled", "budget_tokens": 2_048}},
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "thinking without a budget": ({"thinking": {"type": "enabled"}}, "budget_tokens: Field required"),
    "thinking in doubt": ({"thinking": {"type": "maybe"}}, "thinking.type: Input should be 'enabled', 'disabled' or"),
    "thinking warm": (THINKING | {"temperature": 0.5}, "`temperature` may only be set to 1 when thinking is enabled"),
    "thinking on command": (
        THINKING | {"tools": [TOOL], "tool_choice": {"type": "any"}},
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    "thoughts that are missing": (
        talk("a", [USE], [RESULT]) | THINKING,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    "thoughts that were changed": (
        talk("a", [THOUGHT | {"thinking": "ha"}, USE], [RESULT]) | THINKING,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "thoughts that were changed, adaptive": (
        talk("a", [THOUGHT | {"thinking": "ha"}, USE], [RESULT]) | {"thinking": {"type": "adaptive"}},
        "Invalid `signature`",
    ),
    "a picture of no bytes": (
        picture(type="base64", media_type="image/png", data="a!b"),
        "messages.0.content.0.image.source.base64.data: invalid base64 data",
    ),
    "a picture of another kind": (
        picture(type="base64", media_type="image/tiff", data="AAAA"),
        "base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    "a picture nowhere": (picture(type="url", url="data:image/png;base64,AAAA"), "Only HTTPS URLs are supported"),
    "too warm": ({"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
    "too cold": ({"temperature": -0.1}, "temperature: Input should be greater than or equal to 0"),
    "a tool without a schema": ({"tools": [{"name": "f"}]}, "tools.0.custom.input_schema: Field required"),
    "a tool with a field too many": ({"tools": [TOOL | {"parameters": {}}]}, "tools.0.custom.parameters: Extra inputs"),
    "a tool with a bad name": ({"tools": [TOOL | {"name": "a b"}]}, "tools.0.custom.name: String should match pattern"),
    "a choice of nothing": (
        {"tool_choice": {"type": "any"}},
        "tool_choice may only be specified while providing tools",
    ),
    "a choice of another": (
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "g"}},
        "Tool 'g' not found in provided tools",
    ),
    "an empty stop": ({"stop_sequences": [" "]}, "each stop sequence must contain non-whitespace"),
    "a stream in words": ({"stream": "yes"}, "stream: Input should be a valid boolean"),
}


@pytest.mark.parametrize(("fields", "message"), BAD.values(), ids=BAD)
async def test_what_the_vendor_refuses_is_refused_in_its_words(
    sim: Simulator, fields: dict[str, Any], message: str
) -> None:
    seen = await ANTHROPIC.send(sim, BLANK | fields)
    told = json.loads(seen.body)
    assert (seen.status, told["type"], told["error"]["type"]) == (400, "error", "invalid_request_error")
    assert message in told["error"]["message"]


@pytest.mark.parametrize("name", BLANK)
async def test_what_is_required_must_be_there(sim: Simulator, name: str) -> None:
    seen = await ANTHROPIC.send(sim, {key: value for key, value in BLANK.items() if key != name})
    assert json.loads(seen.body)["error"]["message"] == f"{name}: Field required"


async def test_directions_are_found_before_the_results_of_tools(sim: Simulator) -> None:
    body = BLANK | talk("call the tool [[tokens=3]]", [USE], [RESULT]) | {"tools": [TOOL]}
    seen = await ANTHROPIC.send(sim, body)
    assert json.loads(seen.body)["usage"]["output_tokens"] == 3


async def test_an_unknown_address_is_refused_in_the_same_form(sim: Simulator) -> None:
    other = msgspec.structs.replace(ANTHROPIC, path="/v1/messages/batches")
    seen = await other.send(sim, BLANK)
    assert (seen.status, json.loads(seen.body)["error"]["type"]) == (404, "not_found_error")


def test_a_signature_is_of_its_thought_alone() -> None:
    assert signature_of("a") != signature_of("b")
    assert base64.b64decode(signature_of("a"))
