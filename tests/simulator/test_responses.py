"""The simulator's responses as OpenAI's own client library sees them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.simulator.conftest import KEY
from tollkeeper_simulator.speech import text_of, thoughts_of
from tools.simulator import Simulator

TOOLS: list[Any] = [
    {
        "type": "function",
        "name": "get_weather",
        "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]
any_event: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@pytest.fixture
async def caller(locked_sim: Simulator) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=locked_sim.base, api_key=KEY, max_retries=0) as opened:
        yield opened


async def told(caller: AsyncOpenAI, text: str, **fields: Any) -> Any:
    """The same answer, whole and streamed, each event as the package knows it."""
    asked: dict[str, Any] = {"model": "gpt-demo", "input": text} | fields
    raw = await caller.responses.with_raw_response.create(**asked)
    whole = Response.model_validate(json.loads(raw.text))
    async with caller.responses.with_streaming_response.create(**asked, stream=True) as response:
        lines = [line async for line in response.iter_lines() if line.startswith("data: ")]
    events = [any_event.validate_python(json.loads(line.removeprefix("data: "))) for line in lines]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    last: Response = events[-1].response
    assert shown(last) == shown(whole)
    assert [event.item for event in events if event.type == "response.output_item.done"] == last.output
    return whole


def shown(response: Response) -> dict[str, Any]:
    """Without what differs from answer to answer."""
    members = response.model_dump(exclude={"id", "created_at"})
    members["output"] = [
        {name: value for name, value in item.items() if name not in {"id", "call_id", "encrypted_content"}}
        for item in members["output"]
    ]
    return members


async def test_an_answer_is_the_same_whole_and_streamed(caller: AsyncOpenAI) -> None:
    answer = await told(caller, "hi [[tokens=20 cached=3]]", instructions="be brief")
    assert answer.output_text == text_of(20)
    assert (answer.status, answer.model, answer.store) == ("completed", "gpt-demo", False)
    assert answer.usage is not None
    assert (answer.usage.output_tokens, answer.usage.input_tokens_details.cached_tokens) == (20, 3)


async def test_an_answer_that_is_cut_short_says_so(caller: AsyncOpenAI) -> None:
    answer = await told(caller, "hi [[tokens=20]]", max_output_tokens=16)
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert answer.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("summary", [None, "auto"])
async def test_thoughts_are_sealed_and_told_where_a_summary_is_wanted(caller: AsyncOpenAI, summary: str | None) -> None:
    answer = await told(caller, "hi [[tokens=4 thinking=9]]", reasoning={"effort": "low", "summary": summary})
    thoughts, message = answer.output
    assert (thoughts.type, message.type) == ("reasoning", "message")
    assert thoughts.encrypted_content
    assert [part.text for part in thoughts.summary] == ([thoughts_of(9)] if summary else [])
    assert answer.usage is not None
    assert (answer.usage.output_tokens, answer.usage.output_tokens_details.reasoning_tokens) == (13, 9)
    again = [{"role": "user", "content": "hi"}, thoughts.model_dump(exclude_none=True)]
    await caller.responses.create(model="gpt-demo", input=again)
    again[1]["encrypted_content"] = "gAAAAABothers"
    with pytest.raises(openai.BadRequestError, match="could not be verified"):
        await caller.responses.create(model="gpt-demo", input=again)


async def test_a_function_is_called_and_its_result_taken(caller: AsyncOpenAI) -> None:
    answer = await told(caller, "Please call the tool [[tokens=4]]", tools=TOOLS)
    [call] = answer.output
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "river stone"}
    asked = {"role": "user", "content": "Please call the tool [[tokens=4]]"}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "It rains."}
    spoken: Any = [asked, call.model_dump(exclude_none=True), result]
    assert (await caller.responses.create(model="gpt-demo", input=spoken, tools=TOOLS)).output_text == text_of(4)
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        await caller.responses.create(model="gpt-demo", input=[asked, result])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"extra_body": {"surprise": 1}}, "Unknown parameter: 'surprise'"),
        ({"max_output_tokens": 3}, "Expected a value >= 16"),
        ({"input": ""}, "Missing required parameter: 'input'"),
        ({"reasoning": {"effort": "extreme"}}, "Invalid value: 'extreme'"),
    ],
)
async def test_what_the_vendor_refuses_is_refused(caller: AsyncOpenAI, fields: dict[str, Any], words: str) -> None:
    asked: dict[str, Any] = {"model": "gpt-demo", "input": "hi"} | fields
    with pytest.raises(openai.BadRequestError, match=words):
        await caller.responses.create(**asked)


async def test_an_error_inside_of_a_stream_is_an_event(caller: AsyncOpenAI) -> None:
    stream = await caller.responses.create(model="gpt-demo", input="hi [[tokens=9 error_at=2]]", stream=True)
    events = [event async for event in stream]
    assert events[-1].type == "error"
