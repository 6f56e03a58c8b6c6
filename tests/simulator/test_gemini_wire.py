"""Gemini's format as bytes: the frame of its stream, and everything that it refuses."""

import base64
import json
from typing import Any

import msgspec
import pytest

from tests.simulator.conftest import KEY
from tests.simulator.formats import GEMINI, Format
from tests.simulator.raw import unchunked
from tollkeeper_simulator.dialects.gemini.signature import signature_text
from tools.simulator import Simulator

BLANK: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
CALL: dict[str, Any] = {"functionCall": {"name": "f", "args": {}}}
RESPONSE: dict[str, Any] = {"functionResponse": {"name": "f", "response": {"result": "done"}}}
TEXT = {"text": "hi"}
SIGNED = CALL | {"thoughtSignature": signature_text("f").decode()}


def at(path: str) -> Format:
    return msgspec.structs.replace(GEMINI, path=path)


THIRD = at("/v1beta/models/gemini-3-demo:generateContent")


def talk(*turns: list[Any]) -> dict[str, Any]:
    """A conversation in turns, the user's first."""
    roles = ("user", "model")
    return {"contents": [{"role": roles[index % 2], "parts": parts} for index, parts in enumerate(turns)]}


def tool(**declaration: Any) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": [{"name": "f"} | declaration]}]}


def config(**fields: Any) -> dict[str, Any]:
    return {"generationConfig": fields}


async def test_events_end_in_two_full_line_ends_and_there_is_no_mark_at_the_end(sim: Simulator) -> None:
    seen = await GEMINI.call(sim, "[[tokens=3]]", stream=True)
    *events, rest = unchunked(seen.body).split(b"\r\n\r\n")
    assert rest == b""
    assert len(events) == 4
    assert all(event.startswith(b"data: {") and b"\n" not in event for event in events)
    assert "usageMetadata" in json.loads(events[0].removeprefix(b"data: "))
    assert "x-request-id" not in seen.head


@pytest.mark.parametrize("path", ["/v1/models/m:generateContent", "/v1beta/models/m:generateContent?key=x"])
async def test_both_versions_are_served(sim: Simulator, path: str) -> None:
    assert (await at(path).send(sim, BLANK)).status == 200


async def test_a_stream_is_served_as_events_only(sim: Simulator) -> None:
    seen = await at("/v1beta/models/m:streamGenerateContent").send(sim, BLANK)
    assert (seen.status, "alt=sse" in json.loads(seen.body)["error"]["message"]) == (400, True)


async def test_a_key_may_stand_in_the_address(locked_sim: Simulator) -> None:
    path = "/v1beta/models/m:generateContent?key="
    assert (await at(path + KEY).send(locked_sim, BLANK)).status == 200
    assert (await at(path + "other").send(locked_sim, BLANK)).status == 400
    seen = await at(path).send(locked_sim, BLANK)
    assert (seen.status, json.loads(seen.body)["error"]["status"]) == (403, "PERMISSION_DENIED")


async def test_an_unknown_method_is_refused_in_the_same_form(sim: Simulator) -> None:
    seen = await at("/v1beta/models/m:dream").send(sim, BLANK)
    told = json.loads(seen.body)["error"]
    assert (seen.status, told["code"], told["status"]) == (404, 404, "NOT_FOUND")


SCHEMA = {"type": "OBJECT", "properties": {"a": {"type": "array", "items": {"anyOf": [{"type": "string"}]}}}}
GOOD: dict[str, dict[str, Any]] = {
    "a conversation": talk([TEXT], [TEXT], [TEXT, TEXT]),
    "no role": {"contents": [{"parts": [TEXT]}]},
    "one turn without a list": {"contents": {"parts": [TEXT]}},
    "names with underscores": {
        "system_instruction": {"parts": [TEXT]},
        "generation_config": {"max_output_tokens": 5, "thinking_config": {"include_thoughts": True}},
        "tools": [{"function_declarations": [{"name": "f", "parameters": SCHEMA}]}],
    },
    "a call and its response": talk([TEXT], [CALL], [RESPONSE]) | tool(parameters=SCHEMA),
    "two calls and their responses": talk([TEXT], [CALL, CALL], [RESPONSE, RESPONSE]),
    "an open schema": tool(parametersJsonSchema={"type": ["string", "null"], "$schema": "x"}),
    "a picture": talk([{"inlineData": {"mimeType": "image/png", "data": "_-8="}}]),
    "a thought": talk([TEXT], [{"text": "hm", "thought": True, "thoughtSignature": "AAAA"}], [TEXT]),
    "settings": config(temperature=1.5, topP=0.9, topK=3, stopSequences=["x"], responseMimeType="text/plain", seed=1),
    "the vendor's tools": {"tools": [{"googleSearch": {}}], "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
}


@pytest.mark.parametrize("fields", GOOD.values(), ids=GOOD)
async def test_what_the_vendor_takes_is_taken(sim: Simulator, fields: dict[str, Any]) -> None:
    seen = await GEMINI.send(sim, BLANK | fields)
    assert seen.status == 200, seen.body


PICTURE = {"mimeType": "image/png", "data": "AAAA"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no contents": ({"contents": []}, "GenerateContentRequest.contents: contents is not specified"),
    "an unknown field": ({"messages": []}, 'Unknown name "messages": Cannot find field.'),
    "an unknown field inside": (config(max_tokens=3), "Unknown name \"max_tokens\" at 'generation_config'"),
    "an unknown field of a part": (
        talk([{"text": "a", "type": "text"}]),
        "Unknown name \"type\" at 'contents[0].parts[0]'",
    ),
    "an unknown role": ({"contents": [{"role": "system", "parts": [TEXT]}]}, "Please use a valid role: user, model."),
    "no parts": (talk([]), "contents[0].parts: contents.parts must not be empty"),
    "an empty part": (talk([{"thought": True}]), "contents[0].parts[0].data: required oneof field 'data'"),
    "a part of two kinds": (talk([TEXT | CALL]), "oneof field 'data' is already set"),
    "a text that is none": (talk([{"text": 3}]), "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING)"),
    "a picture of no bytes": (
        talk([{"inlineData": PICTURE | {"data": "a!b"}}]),
        "Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
    ),
    "a picture of no kind": (talk([{"inlineData": {"data": "AAAA"}}]), "inline_data.mime_type"),
    "an empty picture": (talk([{"inlineData": PICTURE | {"data": ""}}]), "inline_data.data"),
    "a call without a response": (talk([TEXT], [CALL], [TEXT]), "number of function response parts is equal"),
    "one response of two": (talk([TEXT], [CALL, CALL], [RESPONSE]), "number of function response parts is equal"),
    "a call at the end": (talk([TEXT], [CALL]), "number of function response parts is equal"),
    "a response without a call": (talk([TEXT], [TEXT], [RESPONSE]), "comes immediately after a function call turn"),
    "a call of the user": (talk([CALL]), "function call turn comes immediately after a user turn"),
    "a call without a name": (
        talk([TEXT], [{"functionCall": {}}], [RESPONSE]),
        "function_call.name: Name cannot be empty",
    ),
    "a response in text": (
        talk([TEXT], [CALL], [{"functionResponse": {"name": "f", "response": "done"}}]),
        "function_response.response",
    ),
    "a signature of no bytes": (
        talk([TEXT], [CALL | {"thoughtSignature": "a!"}], [RESPONSE]),
        "thought_signature' (TYPE_BYTES)",
    ),
    "a function with a bad name": (tool(name="1 f"), "function_declarations[0].name: Invalid function name"),
    "a function with a field too many": (
        tool(strict=True),
        "Unknown name \"strict\" at 'tools[0].function_declarations[0]'",
    ),
    "a schema with a word too many": (
        tool(parameters={"type": "object", "properties": {"a": {"const": 1}}}),
        "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[a]'",
    ),
    "a schema of two types": (tool(parameters={"type": ["string", "null"]}), "Proto field is not repeating"),
    "two schemas": (tool(parameters=SCHEMA, parametersJsonSchema={}), "must not both be set"),
    "a schema for the answer": (
        config(responseSchema={"$id": "x"}),
        "Unknown name \"$id\" at 'generation_config.response_schema'",
    ),
    "too warm": (config(temperature=2.1), "generation_config.temperature: must be in the range [0.0, 2.0]"),
    "a cap of nothing": (config(maxOutputTokens=0), "max_output_tokens must be positive"),
    "a cap in words": (config(maxOutputTokens="many"), "'generation_config.max_output_tokens' (TYPE_INT32)"),
    "too many candidates": (config(candidateCount=9), "candidate_count must be in the range [1, 8]"),
    "a budget and a level": (
        config(thinkingConfig={"thinkingBudget": 1, "thinkingLevel": "LOW"}),
        "only one of thinking budget and thinking level",
    ),
}


@pytest.mark.parametrize(("fields", "message"), BAD.values(), ids=BAD)
async def test_what_the_vendor_refuses_is_refused_in_its_words(
    sim: Simulator, fields: dict[str, Any], message: str
) -> None:
    seen = await GEMINI.send(sim, BLANK | fields)
    told = json.loads(seen.body)["error"]
    assert (seen.status, told["code"], told["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert message in told["message"]


DUMMY = b"skip_thought_signature_validator"
OTHER_DUMMY = b"context_engineering_is_the_way_to_go"
SIGNATURES = {
    "its own": (signature_text("f").decode(), 200),
    "its own in the other alphabet": (
        signature_text("f").decode().replace("+", "-").replace("/", "_").rstrip("="),
        200,
    ),
    "a dummy": (DUMMY.decode(), 200),
    "the other dummy": (OTHER_DUMMY.decode(), 200),
    "a dummy as bytes": (base64.b64encode(DUMMY).decode(), 200),
    "another call's": (signature_text("g").decode(), 400),
    "an invention": ("AAAA", 400),
}


@pytest.mark.parametrize(("signature", "status"), SIGNATURES.values(), ids=SIGNATURES)
async def test_the_third_family_wants_its_signatures_back(sim: Simulator, signature: str, status: int) -> None:
    seen = await THIRD.send(sim, talk([TEXT], [CALL | {"thoughtSignature": signature}], [RESPONSE]))
    assert seen.status == status


async def test_only_the_first_call_of_a_step_in_the_current_turn_is_signed(sim: Simulator) -> None:
    assert (await THIRD.send(sim, talk([TEXT], [SIGNED, CALL], [RESPONSE, RESPONSE]))).status == 200
    assert (await THIRD.send(sim, talk([TEXT], [CALL], [RESPONSE], [TEXT], [TEXT]))).status == 200
    for turns in (
        talk([TEXT], [CALL], [RESPONSE]),
        talk([TEXT], [CALL, SIGNED], [RESPONSE, RESPONSE]),
        talk([TEXT], [SIGNED], [RESPONSE], [CALL], [RESPONSE]),
    ):
        seen = await THIRD.send(sim, turns)
        assert seen.status == 400
        assert "Function call is missing a thought_signature" in json.loads(seen.body)["error"]["message"]
        assert (await GEMINI.send(sim, turns)).status == 200


async def test_directions_are_found_before_the_responses_of_tools(sim: Simulator) -> None:
    body = talk([{"text": "call the tool [[tokens=3]]"}], [CALL], [RESPONSE]) | tool()
    seen = await GEMINI.send(sim, body)
    assert json.loads(seen.body)["usageMetadata"]["candidatesTokenCount"] == 3
