"""What callers insist on, in every format: a tool, and JSON that fits a schema."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.simulator.formats import FORMATS, Format
from tests.simulator.raw import post, see
from tollkeeper_simulator.tokens import count_text
from tools.simulator import Simulator

Json = dict[str, Any]
TWO = {
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}}},
    "get_time": {"type": "object", "properties": {"zone": {"type": "string", "enum": ["UTC"]}}},
}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "born": {"type": "string", "format": "date"},
        "age": {"type": "integer"},
    },
    "required": ["name", "born", "age"],
    "additionalProperties": False,
}
FITTING = {"name": "river stone", "born": "2026-01-02", "age": 3}


def tools_in(form: str) -> Json:
    if form == "anthropic":
        return {"tools": [{"name": name, "input_schema": schema} for name, schema in TWO.items()]}
    if form == "gemini":
        declared = [{"name": name, "parameters": schema} for name, schema in TWO.items()]
        return {"tools": [{"functionDeclarations": declared}]}
    functions = [{"name": name, "parameters": schema} for name, schema in TWO.items()]
    return {"tools": [{"type": "function", "function": function} for function in functions]}


def choice_in(form: str, name: str | None) -> Json:
    """Of this tool, or of any."""
    if form == "anthropic":
        return {"tool_choice": {"type": "tool", "name": name} if name else {"type": "any"}}
    if form == "gemini":
        allowed = {"allowedFunctionNames": [name]} if name else {}
        return {"toolConfig": {"functionCallingConfig": {"mode": "ANY", **allowed}}}
    return {"tool_choice": {"type": "function", "function": {"name": name}} if name else "required"}


def schema_in(form: str) -> Json:
    if form == "anthropic":
        return {"output_config": {"format": {"type": "json_schema", "schema": PERSON}}}
    if form == "gemini":
        return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": PERSON}}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
async def test_json_that_fits_is_said_and_counted(sim: Simulator, form: Format, stream: bool) -> None:
    seen = await form.call(sim, "Hello", stream=stream, **schema_in(form.name))
    assert json.loads(form.spoken(seen)) == FITTING
    usage = form.last_usage(seen)
    assert usage is not None
    assert usage[1] == count_text(form.spoken(seen))


@pytest.mark.parametrize("name", [None, "get_time"], ids=["any", "a named one"])
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
async def test_a_tool_that_is_insisted_on_is_called(sim: Simulator, form: Format, name: str | None) -> None:
    seen = await form.call(sim, "Hello", **tools_in(form.name), **choice_in(form.name, name))
    wanted = {"get_time": {"zone": "UTC"}} if name else {"get_weather": {"city": "river stone"}}
    assert called_in(form.name, form.told(seen)[0]) == wanted


def called_in(form: str, told: Json) -> Json:
    if form == "anthropic":
        return {block["name"]: block["input"] for block in told["content"]}
    if form == "gemini":
        parts = told["candidates"][0]["content"]["parts"]
        return {part["functionCall"]["name"]: part["functionCall"]["args"] for part in parts}
    calls = told["choices"][0]["message"]["tool_calls"]
    return {call["function"]["name"]: json.loads(call["function"]["arguments"]) for call in calls}


@pytest.mark.parametrize("choice", ["auto", "none", None, {"type": "function", "function": {"name": "unknown"}}, 7])
async def test_nobody_else_gets_a_call(sim: Simulator, choice: object) -> None:
    form = FORMATS[0]
    seen = await form.call(sim, "Hello [[tokens=2]]", **tools_in(form.name), tool_choice=choice)
    assert form.spoken(seen) == "river stone"


async def test_json_is_cut_by_a_cap_and_any_object_will_do_where_there_is_no_schema(sim: Simulator) -> None:
    form = FORMATS[0]
    capped = await form.call(sim, "Hello", **schema_in(form.name), max_tokens=4)
    assert form.told(capped)[0]["choices"][0]["finish_reason"] == "length"
    seen = await form.call(sim, "Hello", response_format={"type": "json_object"})
    assert json.loads(form.spoken(seen)) == {"answer": "river stone"}
    words = await form.call(sim, "Hello [[tokens=2]]", response_format={"type": "text"})
    assert form.spoken(words) == "river stone"


async def test_responses_have_both(sim: Simulator) -> None:
    tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in TWO.items()]
    forced = await responses(sim, tools=tools, tool_choice={"type": "function", "name": "get_time"})
    assert (forced["output"][0]["name"], json.loads(forced["output"][0]["arguments"])) == ("get_time", {"zone": "UTC"})
    fitting = await responses(sim, text={"format": {"type": "json_schema", "name": "person", "schema": PERSON}})
    assert json.loads(fitting["output"][0]["content"][0]["text"]) == FITTING


async def responses(sim: Simulator, **fields: object) -> Json:
    request_id = uuid4().hex
    body = {"model": "demo-small", "input": "Hello", **fields}
    told: Json = json.loads((await see(sim, request_id, post("/v1/responses", body, request_id))).body)
    return told
