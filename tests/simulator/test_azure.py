"""The simulator as Azure: by OpenAI's own client library, and as bytes."""

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import openai
import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI

from tests.simulator.conftest import KEY
from tests.simulator.formats import AZURE
from tollkeeper_simulator.dialects.openai import MODELS
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator

TOOLS: Any = AZURE.tools["tools"]
V1 = msgspec.structs.replace(AZURE, path="/openai/v1/chat/completions")


def client(sim: Simulator, key: str = KEY) -> AsyncAzureOpenAI:
    endpoint = sim.base.removesuffix("/v1")
    return AsyncAzureOpenAI(azure_endpoint=endpoint, api_key=key, api_version="2024-10-21", max_retries=0)


@pytest.fixture
async def caller(locked_sim: Simulator) -> AsyncIterator[AsyncAzureOpenAI]:
    async with client(locked_sim) as opened:
        yield opened


def said(text: Any) -> list[Any]:
    return [{"role": "user", "content": text}]


async def test_an_answer_is_the_deployments_and_filtered(caller: AsyncAzureOpenAI) -> None:
    answer: Any = await caller.chat.completions.create(
        model="my-deployment", messages=said("hi [[tokens=20 cached=4]]")
    )
    assert answer.choices[0].message.content == text_of(20)
    assert (answer.object, answer.model) == ("chat.completion", "my-deployment")
    assert answer.usage.prompt_tokens_details.cached_tokens == 4
    assert answer.choices[0].content_filter_results["hate"] == {"filtered": False, "severity": "safe"}
    assert answer.prompt_filter_results[0]["prompt_index"] == 0


async def test_an_account_remembers_what_it_was_sent(caller: AsyncAzureOpenAI) -> None:
    messages: Any = [{"role": "user", "content": "a long story"}, *said("go on [[remembers=1]]")]
    cached = []
    for _ in range(2):
        answer: Any = await caller.chat.completions.create(model="my-deployment", messages=messages)
        cached.append((answer.usage.prompt_tokens_details.cached_tokens, answer.usage.prompt_tokens))
        messages = [*messages, {"role": "assistant", "content": "so"}, *said("and on [[remembers=1]]")]
    (none, _), (known, asked) = cached
    assert none == 0
    assert 0 < known < asked


async def test_a_stream_begins_with_what_the_filter_thinks_of_the_prompt(caller: AsyncAzureOpenAI) -> None:
    stream = await caller.chat.completions.create(
        model="d", messages=said("[[tokens=3]]"), stream=True, stream_options={"include_usage": True}
    )
    first, *chunks = [chunk async for chunk in stream]
    assert (first.id, first.model, first.object, first.created, first.choices) == ("", "", "", 0, [])
    extras = first.model_extra or {}
    assert extras["prompt_filter_results"][0]["content_filter_results"]["jailbreak"]["detected"] is False
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == text_of(3)
    assert (chunks[1].choices[0].model_extra or {})["content_filter_results"]["violence"]["severity"] == "safe"
    assert {chunk.model for chunk in chunks} == {"d"}
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_thoughts_are_hidden_and_counted(caller: AsyncAzureOpenAI, stream: bool) -> None:
    order: dict[str, Any] = {"model": "d", "messages": said("[[tokens=3 thinking=7]]")}
    if stream:
        order |= {"stream": True, "stream_options": {"include_usage": True}}
        usage = [chunk async for chunk in await caller.chat.completions.create(**order)][-1].usage
    else:
        usage = (await caller.chat.completions.create(**order)).usage
    assert usage.completion_tokens == 10
    assert usage.completion_tokens_details.reasoning_tokens == 7


async def test_a_tool_is_called_and_its_result_answered(caller: AsyncAzureOpenAI) -> None:
    messages = said("call the tool")
    asked = await caller.chat.completions.create(model="d", messages=messages, tools=TOOLS)
    calls: Any = asked.choices[0].message.tool_calls
    assert (asked.choices[0].finish_reason, calls[0].function.name) == ("tool_calls", "get_weather")
    messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": calls[0].id, "content": "sunny"}]
    answer = await caller.chat.completions.create(model="d", messages=messages, tools=TOOLS)
    assert answer.choices[0].message.content == text_of(16)


async def test_images_are_taken(caller: AsyncAzureOpenAI) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "hi"}]
    assert (await caller.chat.completions.create(model="d", messages=said(parts))).choices[0].message.content


@pytest.mark.parametrize("direction", ["safety=1", "blocked=1"])
async def test_an_answer_can_be_withheld(caller: AsyncAzureOpenAI, direction: str) -> None:
    answer: Any = await caller.chat.completions.create(model="d", messages=said(f"[[{direction} tokens=2]]"))
    assert answer.choices[0].finish_reason == "content_filter"
    assert answer.choices[0].content_filter_results["violence"] == {"filtered": True, "severity": "high"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_a_status_is_given_as_asked(
    caller: AsyncAzureOpenAI, status: int, kind: type[openai.APIStatusError]
) -> None:
    with pytest.raises(kind) as refusal:
        await caller.chat.completions.create(
            model="d", messages=said(f'[[status={status} status_text="so it goes" retry_after=7]]')
        )
    assert refusal.value.status_code == status
    assert "so it goes" in refusal.value.message
    assert refusal.value.response.headers["retry-after"] == "7"


async def test_a_wrong_key_is_refused_in_azures_form(locked_sim: Simulator) -> None:
    async with client(locked_sim, "wrong") as stranger:
        with pytest.raises(openai.AuthenticationError) as refusal:
            await stranger.chat.completions.create(model="d", messages=said("hi"))
    assert refusal.value.code == "401"
    assert set(refusal.value.body) == {"code", "message"}  # type: ignore[call-overload]


async def test_a_deployment_is_found_only_with_a_version(sim: Simulator) -> None:
    unversioned = msgspec.structs.replace(AZURE, path="/openai/deployments/d/chat/completions")
    seen = await unversioned.call(sim, "hi")
    assert (seen.status, json.loads(seen.body)) == (404, {"error": {"code": "404", "message": "Resource not found"}})
    elsewhere = msgspec.structs.replace(AZURE, path="/openai/deployments/d/dreams?api-version=1")
    assert json.loads((await elsewhere.call(sim, "hi")).body)["error"]["code"] == "404"


async def test_a_body_need_not_name_what_the_address_does(sim: Simulator) -> None:
    seen = await AZURE.send(sim, {"messages": said("hi")})
    assert json.loads(seen.body)["model"] == "demo-small"
    assert (await V1.send(sim, {"messages": said("hi")})).status == 400


async def test_the_newer_address_takes_the_key_either_way(locked_sim: Simulator) -> None:
    body = AZURE.body("hi")
    assert (await V1.send(locked_sim, body, headers={"api-key": KEY})).status == 200
    async with AsyncOpenAI(base_url=locked_sim.base.replace("/v1", "/openai/v1"), api_key=KEY, max_retries=0) as plain:
        answer: Any = await plain.chat.completions.create(model="demo-large", messages=said("hi"))
        assert (answer.model, bool(answer.prompt_filter_results)) == ("demo-large", True)
        assert [model.id async for model in plain.models.list()] == list(MODELS)
    assert (await AZURE.send(locked_sim, body, headers={"authorization": f"Bearer {KEY}"})).status == 401


async def test_models_are_listed(caller: AsyncAzureOpenAI) -> None:
    assert [model.id async for model in caller.models.list()] == list(MODELS)
