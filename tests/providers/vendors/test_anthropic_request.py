"""Our chat request as Anthropic's: what the wire files do not show."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.vendors.builders import an_account, an_order, sent_by
from tests.providers.vendors.json_values import json_values
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.errors import BadRequest, InvalidParameter, UnsupportedParameter
from tollkeeper.providers.vendors.anthropic import Anthropic

TOOL = {"type": "function", "function": {"name": "f"}}


def sent(**fields: Any) -> dict[str, Any]:
    return sent_by(Anthropic(), an_order(**fields))


def parts(*content: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(content)}]


@pytest.mark.parametrize(
    ("fields", "refusal", "param"),
    [
        pytest.param({"temperature": 1.5}, UnsupportedParameter, "temperature", id="temperature above 1"),
        pytest.param(
            {"response_format": {"type": "json_object"}}, UnsupportedParameter, "response_format", id="plain JSON"
        ),
        pytest.param({"reasoning_effort": "huge"}, InvalidParameter, "reasoning_effort", id="unknown effort"),
        pytest.param(
            {"tools": [{"type": "custom", "custom": {"name": "f"}}]}, UnsupportedParameter, "tools[0]", id="custom tool"
        ),
        pytest.param({"tools": [TOOL], "tool_choice": "any"}, InvalidParameter, "tool_choice", id="unknown choice"),
        pytest.param(
            {"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}},
            UnsupportedParameter,
            "tool_choice",
            id="allowed tools",
        ),
        pytest.param(
            {"cache_control": {"type": "ephemeral", "ttl": "24h"}}, InvalidParameter, "cache_control.ttl", id="24 h"
        ),
        pytest.param(
            {"messages": parts({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}})},
            UnsupportedParameter,
            "messages[0].content[0]",
            id="audio",
        ),
        pytest.param(
            {"messages": parts({"type": "file", "file": {"file_data": "data:text/plain;base64,aGk="}})},
            InvalidParameter,
            "messages[0].content[0].file.file_data",
            id="file that is no PDF",
        ),
        pytest.param(
            {"messages": [{"role": "function", "name": "f", "content": "x"}]},
            UnsupportedParameter,
            "messages[0].role",
            id="old role",
        ),
        pytest.param(
            {"messages": [{"role": "tool", "content": "x"}]}, InvalidParameter, "messages[0].tool_call_id", id="no id"
        ),
        pytest.param(
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "[1]"}}]}
                ]
            },
            InvalidParameter,
            "messages[0].tool_calls[0].function.arguments",
            id="arguments that are no object",
        ),
        pytest.param({"stop": {"a": 1}}, InvalidParameter, "stop", id="stop of another form"),
        pytest.param(
            {"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}]},
            UnsupportedParameter,
            "messages[0].function_call",
            id="old form of tool calls",
        ),
    ],
)
def test_what_the_vendor_cannot_do_is_refused_by_its_place(
    fields: dict[str, Any], refusal: type[BadRequest], param: str
) -> None:
    with pytest.raises(refusal) as told:
        sent(**fields)
    assert told.value.param == param


def test_texts_of_nothing_are_not_sent() -> None:
    """The vendor refuses empty blocks, and common SDKs send them beside tool calls."""
    said = sent(
        messages=[
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "there"}]},
        ]
    )
    texts = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]
    assert said["messages"] == [{"role": "user", "content": texts}]


@pytest.mark.parametrize("model", ["claude-3-7-sonnet-latest", "claude-sonnet-4-5", "claude-opus-4-20250514"])
def test_older_models_are_told_for_how_many_tokens_to_think(model: str) -> None:
    said = sent(model=model, reasoning_effort="medium")
    assert said["thinking"] == {"type": "enabled", "budget_tokens": 8_192}
    assert "output_config" not in said
    # At most half of the cap; and less than the least is none at all.
    assert sent(model=model, reasoning_effort="medium", max_tokens=4_000)["thinking"]["budget_tokens"] == 2_000
    assert "thinking" not in sent(model=model, reasoning_effort="medium", max_tokens=2_000)


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-opus-5", "claude-sonnet-4-8-20260601", "our-name"])
def test_newer_models_decide_by_themselves_how_long_to_think(model: str) -> None:
    said = sent(model=model, reasoning_effort="max", max_tokens=1_000)
    assert said["thinking"]["type"] == "adaptive"
    assert said["output_config"] == {"effort": "max"}


@pytest.mark.parametrize("wish", [{"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}])
def test_who_does_not_want_thoughts_is_heard_even_where_they_were_lost(wish: dict[str, Any]) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ]
    assert sent(messages=messages, tools=[TOOL], **wish)["thinking"] == {"type": "disabled"}


def test_free_json_is_passed_on_as_it_came_at_no_cost() -> None:
    """However much of it there is: it is neither read nor written again."""
    nothings = "[" + ",".join(["[]"] * 300_000) + "]"
    tool = {"type": "function", "function": {"name": "f", "parameters": {"x": 0}}}
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]})
    order = read_chat(body.replace('"x": 0', f'"x": {nothings}').encode())
    begun = time.process_time()
    _, _, said = Anthropic().chat(order, an_account("anthropic"), most_output_tokens=9)
    print(f"{time.process_time() - begun:.3f} s for {len(said)} bytes")
    assert nothings.encode() in said


def test_a_callers_own_words_on_thinking_go_before_an_effort() -> None:
    thinking = {"type": "enabled", "budget_tokens": 5_000}
    assert sent(thinking=thinking, reasoning_effort="low")["thinking"] == thinking


def test_tools_may_be_forbidden_one_at_a_time_or_left_to_the_model() -> None:
    assert "tool_choice" not in sent(tools=[TOOL])
    assert sent(tools=[TOOL], tool_choice="none", parallel_tool_calls=False)["tool_choice"] == {"type": "none"}
    assert sent(tools=[TOOL], parallel_tool_calls=False)["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    # Without tools there is nothing to choose from, and the vendor refuses a choice.
    assert "tool_choice" not in sent(tool_choice="auto")


@settings(max_examples=300, deadline=None)
@given(
    fields=st.dictionaries(
        st.sampled_from(["tools", "tool_choice", "stop", "response_format", "reasoning_effort", "thinking", "top_p"]),
        json_values,
        max_size=4,
    ),
    messages=st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool", "system", "else"])},
            optional={"content": json_values, "tool_calls": json_values, "thinking_blocks": json_values},
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_whatever_is_asked_is_translated_or_refused(fields: dict[str, Any], messages: list[Any]) -> None:
    try:
        order = read_chat(json.dumps({"model": "m", "messages": messages, **fields}).encode())
        body = sent_by(Anthropic(), order)
    except BadRequest:
        return
    assert body["max_tokens"] >= 1
